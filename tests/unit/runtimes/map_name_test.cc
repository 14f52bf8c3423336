#include "runtimes/all_runtimes.h"

#include <gtest/gtest.h>

#include "code/pattern.h"
#include "runtimes/v8/v8_name.h"

namespace jitscope {
namespace {

struct V8Case {
  const char* raw;
  const char* function;
  const char* location;
  Tier tier;
  bool osr;
};

// Lines of Node 20 and 24.
TEST(V8Name, Functions) {
  const V8Case cases[] = {
      {"JS:^defineLazyProperties node:internal/util:598:30", "defineLazyProperties",
       "node:internal/util:598:30", Tier::baseline, false},
      {"JS:* /srv/app/prog.js:11:61", "", "/srv/app/prog.js:11:61", Tier::turbofan, false},
      {"JS:* :1:20", "", ":1:20", Tier::turbofan, false},
      {"JS:^fromEval :1:18", "fromEval", ":1:18", Tier::baseline, false},
      {"JS:~Module._extensions..js node:internal/modules/cjs/loader:1604:37",
       "Module._extensions..js", "node:internal/modules/cjs/loader:1604:37", Tier::bytecode, false},
      {"JS:^get size /srv/app/prog.js:2:113", "get size", "/srv/app/prog.js:2:113", Tier::baseline,
       false},
      {"JS:^#priv /srv/app/prog.js:2:174", "#priv", "/srv/app/prog.js:2:174", Tier::baseline,
       false},
      {"JS:*weird name /srv/my app/prog.js:5:27", "weird name", "/srv/my app/prog.js:5:27",
       Tier::turbofan, false},
      {"JS:+loop /srv/app/prog.js:9:14", "loop", "/srv/app/prog.js:9:14", Tier::maglev, false},
      {"JS:*'handle /srv/app/prog.js:3:16", "handle", "/srv/app/prog.js:3:16", Tier::turbofan,
       false},
      {"JS:o*loop /srv/app/prog.js:9:14", "loop", "/srv/app/prog.js:9:14", Tier::turbofan, true},
      {"JS:o+'loop /srv/app/prog.js:9:14", "loop", "/srv/app/prog.js:9:14", Tier::maglev, true},
      {"Script:~ file:///srv/app/mod.mjs:1:1", "", "file:///srv/app/mod.mjs:1:1", Tier::bytecode,
       false},
      {"Eval:~ /srv/app/prog.js:1:1", "", "/srv/app/prog.js:1:1", Tier::bytecode, false},
      {"LazyCompile:*loop /srv/app/prog.js:9:14", "loop", "/srv/app/prog.js:9:14", Tier::turbofan,
       false},
      {"Function:~f /srv/app/prog.js:9", "f", "/srv/app/prog.js:9", Tier::bytecode, false},
      {"JS:*run evalmachine.<anonymous>:3:7", "run", "evalmachine.<anonymous>:3:7", Tier::turbofan,
       false},
      {"JS:*f plain.js:3:7", "f", "plain.js:3:7", Tier::turbofan, false},
      {"JS:*f", "f", "", Tier::turbofan, false},
      {"JS:*f ", "f", "", Tier::turbofan, false},
      {"JS:oops /a.js:1:2", "oops", "/a.js:1:2", Tier::unknown, false},
      {"JS:", "", "", Tier::unknown, false},
      {"JS:*", "", "", Tier::turbofan, false},
  };
  for (const V8Case& expected : cases) {
    const auto parsed = parse_v8_name(expected.raw);
    ASSERT_TRUE(parsed) << expected.raw;
    EXPECT_EQ(parsed->name.function, expected.function) << expected.raw;
    EXPECT_EQ(parsed->name.location, expected.location) << expected.raw;
    EXPECT_EQ(parsed->tier, expected.tier) << expected.raw;
    EXPECT_EQ(parsed->osr, expected.osr) << expected.raw;
    EXPECT_TRUE(parsed->function) << expected.raw;
    EXPECT_EQ(parsed->name.raw, expected.raw);
    EXPECT_FALSE(parsed->name.display().empty()) << expected.raw;
  }
}

TEST(V8Name, RuntimeCode) {
  for (const auto& [raw, display] :
       {std::pair{"Builtin:DeoptimizationEntry_Eager", "Builtin.DeoptimizationEntry_Eager"},
        std::pair{"BytecodeHandler:Wide", "BytecodeHandler.Wide"},
        std::pair{"RegExp:a(b|c)+d", "RegExp.a(b|c)+d"}}) {
    const auto parsed = parse_v8_name(raw);
    ASSERT_TRUE(parsed) << raw;
    EXPECT_EQ(parsed->tier, Tier::stub);
    EXPECT_FALSE(parsed->function);
    EXPECT_EQ(parsed->name.display(), display);
    EXPECT_EQ(parse_map_name(Runtime::v8, raw).not_probeable, "runtime stub");
  }
}

TEST(V8Name, Wasm) {
  const auto parsed = parse_v8_name("JS:fib<weird, name>-0-turbofan");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->name.function, "fib<weird, name>");
  EXPECT_EQ(parsed->tier, Tier::turbofan);
  EXPECT_FALSE(parsed->function) << "not called by the JavaScript convention";
  EXPECT_EQ(parse_v8_name("JS:fib-12-liftoff")->tier, Tier::baseline);
}

TEST(V8Name, OtherTextIsNotV8) {
  for (const char* raw : {"", "foo", "py::f:/a/b.py", "Ns.Type:Method (int)", "std::vector::f"}) {
    EXPECT_FALSE(parse_v8_name(raw)) << raw;
  }
}

TEST(MapName, V8) {
  const MapName code = parse_map_name(Runtime::v8, "JS:*f /a.js:1:2");
  EXPECT_EQ(code.convention, CallConvention::v8_x86_64);
  EXPECT_EQ(code.not_probeable, "");
  const MapName bytecode = parse_map_name(Runtime::v8, "JS:~f /a.js:1:2");
  EXPECT_EQ(bytecode.convention, CallConvention::unknown);
  EXPECT_EQ(bytecode.not_probeable, "bytecode");
  const MapName osr = parse_map_name(Runtime::unknown, "JS:o*f /a.js:1:2");
  EXPECT_TRUE(osr.osr);
  EXPECT_EQ(osr.not_probeable, "OSR body");
}

TEST(MapName, Java) {
  const MapName f =
      parse_map_name(Runtime::hotspot, "long T.f(int, long, double, java.lang.Object)");
  EXPECT_EQ(f.name.type, "T");
  EXPECT_EQ(f.name.function, "f");
  EXPECT_EQ(f.name.parameters, "int,long,double,java.lang.Object");
  EXPECT_EQ(f.name.display(), "T.f(int,long,double,java.lang.Object)");
  EXPECT_FALSE(f.not_probeable.empty());
  const MapName node = parse_map_name(
      Runtime::hotspot,
      "java.util.concurrent.ConcurrentHashMap$Node "
      "java.util.concurrent.ConcurrentHashMap.tabAt(java.util.concurrent.ConcurrentHashMap$Node[], "
      "int)");
  EXPECT_EQ(node.name.short_name(), "java.util.concurrent.ConcurrentHashMap.tabAt");
  EXPECT_EQ(parse_map_name(Runtime::hotspot, "void java.lang.Enum.<init>(java.lang.String, int)")
                .name.display(),
            "java.lang.Enum.<init>(java.lang.String,int)");
  EXPECT_EQ(
      parse_map_name(Runtime::hotspot, "int a.B$$Lambda/0x00007f12c4001000.apply()").name.type,
      "a.B$$Lambda/0x00007f12c4001000");
  for (const char* raw :
       {"I2C/C2I adapters", "StubRoutines (initial stubs)", "StubRoutines (1)", "Interpreter",
        "C2 Runtime slow_arraycopy", "unwind_exception Runtime1 stub", ")", "()", "(a)", "a (b)",
        " .f()", "x .()", "int .f()", ".f()", "f()", "a.()", "I2C/C2I adapters(0xbaaa)"}) {
    const MapName stub = parse_map_name(Runtime::hotspot, raw);
    EXPECT_EQ(stub.tier, Tier::stub) << raw;
    EXPECT_EQ(stub.name.display(), raw);
  }
  const MapName agent = parse_map_name(Runtime::hotspot, "Ljava/util/HashMap;::put");
  EXPECT_EQ(agent.name.display(), "java.util.HashMap.put");
  const MapName own = parse_map_name(Runtime::hotspot, "java.util.HashMap.put(int,a.B[])");
  EXPECT_EQ(own.tier, Tier::unknown);
  EXPECT_EQ(own.name.short_name(), "java.util.HashMap.put");
  EXPECT_EQ(own.name.display(), "java.util.HashMap.put(int,a.B[])");
}

// Names that only the JVM takes (JVMS 4.2.2): Kotlin, Groovy, Spock.
TEST(MapName, JavaNamesWithParenthesesAndBlanks) {
  const MapName even = parse_map_name(Runtime::hotspot, "int A.even (number)(int)");
  EXPECT_EQ(even.name.type, "A");
  EXPECT_EQ(even.name.function, "even (number)");
  EXPECT_EQ(even.name.display(), "A.even (number)(int)");
  EXPECT_NE(even.tier, Tier::stub);
  EXPECT_EQ(parse_map_name(Runtime::hotspot, "A.even (number)(int)").name.display(),
            "A.even (number)(int)");
  const MapName sentence = parse_map_name(
      Runtime::hotspot,
      "java.lang.Object com.example.CartSpec.adds (1) item, and says \"it's\": ok(int, p.My Type)");
  EXPECT_EQ(sentence.name.type, "com.example.CartSpec");
  EXPECT_EQ(sentence.name.function, "adds (1) item, and says \"it's\": ok");
  EXPECT_EQ(sentence.name.parameters, "int,p.My Type");
  EXPECT_EQ(parse_map_name(Runtime::hotspot, "void p.My Type.run it()").name.display(),
            "p.My Type.run it()");
  EXPECT_EQ(parse_map_name(Runtime::hotspot, "LA;::even (number)(I)I").name.display(),
            "A.even (number)");
  EXPECT_EQ(parse_map_name(Runtime::hotspot, "LA;::even (number)").name.display(),
            "A.even (number)");
  EXPECT_EQ(parse_map_name(Runtime::hotspot, "int A.a)b(((int)").name.display(), "A.a)b(((int)");
}

TEST(MapName, Erlang) {
  const MapName map = parse_map_name(Runtime::erlang, "$lists:map/2");
  EXPECT_EQ(map.name.type, "lists");
  EXPECT_EQ(map.name.function, "map/2");
  EXPECT_EQ(parse_map_name(Runtime::erlang, "$'Elixir.Enum':'-map/2-fun-0-'/2").name.display(),
            "Elixir.Enum.'-map/2-fun-0-'/2");
  EXPECT_EQ(parse_map_name(Runtime::erlang, "$global::call_light_bif_shared").tier, Tier::stub);
  const MapName prologue = parse_map_name(Runtime::erlang, "$lists:map/2-CodeInfoPrologue");
  EXPECT_TRUE(prologue.part);
  EXPECT_FALSE(prologue.not_probeable.empty());
  EXPECT_EQ(prologue.name.display(), "lists.map/2") << "time spent there is the function's";
  EXPECT_EQ(prologue.name.raw, "$lists:map/2-CodeInfoPrologue");
  EXPECT_FALSE(map.part);
  EXPECT_EQ(parse_map_name(Runtime::erlang, "$lists:-CodeInfoPrologue").name.display(),
            "lists.-CodeInfoPrologue");
  const MapName header = parse_map_name(Runtime::erlang, "$lists::codeHeader");  // OTP 26
  EXPECT_EQ(header.tier, Tier::stub);
  EXPECT_EQ(header.name.display(), "lists.codeHeader");
  EXPECT_EQ(parse_map_name(Runtime::erlang, "$lists::").name.display(), "lists.:");
  EXPECT_EQ(parse_map_name(Runtime::erlang, "hot0").name.display(), "hot0");
  EXPECT_EQ(parse_map_name(Runtime::erlang, "$").name.display(), "$");
}

TEST(MapName, Php) {
  const MapName method = parse_map_name(Runtime::php, "JIT$App\\Http\\Kernel::handle");
  EXPECT_EQ(method.name.type, "App\\Http\\Kernel");
  EXPECT_EQ(method.name.function, "handle");
  const MapName trace = parse_map_name(Runtime::php, "TRACE-6$childonly$3");
  EXPECT_EQ(trace.name.display(), "TRACE-6$childonly$3");
  EXPECT_FALSE(trace.not_probeable.empty());
  EXPECT_EQ(parse_map_name(Runtime::php, "JIT$$hybrid_runtime_jit").tier, Tier::stub);
}

TEST(MapName, Mono) {
  const MapName main = parse_map_name(Runtime::mono, "Ns.Program:Main (string[],int)");
  EXPECT_EQ(main.name.display(), "Ns.Program.Main(string[],int)");
  const MapName native =
      parse_map_name(Runtime::mono, "(wrapper managed-to-native) System.Foo:bar (int)");
  EXPECT_EQ(native.name.display(), "System.Foo.bar(int)");
  EXPECT_EQ(native.not_probeable, "") << "the only body of a native method";
  EXPECT_EQ(parse_map_name(Runtime::mono, "(wrapper dynamic-method) object:f (int)").not_probeable,
            "");
  const MapName wrapper = parse_map_name(
      Runtime::mono, "(wrapper remoting-invoke-with-check) System.Diagnostics.Process:get_Id ()");
  EXPECT_EQ(wrapper.name.display(), "System.Diagnostics.Process.get_Id()");
  EXPECT_FALSE(wrapper.not_probeable.empty()) << "would count each call twice";
  for (const char* raw : {"(null)", "throw_exception", "sdb_breakpoint_trampoline", "(wrapper x",
                          "(wrapper x) ", "Foo:", ":bar ()", ""}) {
    EXPECT_EQ(parse_map_name(Runtime::mono, raw).tier, Tier::stub) << raw;
  }
  EXPECT_EQ(parse_map_name(Runtime::mono, "Type:.ctor").name.display(), "Type..ctor");
}

TEST(MapName, DotNet) {
  const MapName append = parse_map_name(Runtime::dotnet,
                                        "instance void [System.Private.CoreLib] "
                                        "System.Text.StringBuilder::Append(char)[OptimizedTier1]");
  EXPECT_EQ(append.name.display(), "System.Text.StringBuilder.Append(char)");
  EXPECT_FALSE(append.osr);
  const MapName osr =
      parse_map_name(Runtime::dotnet, "void [app] Program::Main(string[])[OptimizedTier1OSR]");
  EXPECT_TRUE(osr.osr);
  EXPECT_EQ(osr.name.display(), "Program.Main(string[])");
  const MapName stub =
      parse_map_name(Runtime::dotnet,
                     "instance System.__Canon /* MT: 0x7f */ [System.Private.CoreLib] "
                     "dynamicClass::IL_STUB_UnboxingStub()");
  EXPECT_EQ(stub.name.display(), "dynamicClass.IL_STUB_UnboxingStub()");
  EXPECT_EQ(stub.tier, Tier::stub);
  EXPECT_EQ(parse_map_name(Runtime::dotnet, "GenerateLookupStub").name.display(),
            "GenerateLookupStub");
}

TEST(MapName, UnknownRuntimesStayWhole) {
  const MapName python = parse_map_name(Runtime::unknown, "py::inner:/srv/app/a.py");
  EXPECT_EQ(python.name.display(), "py::inner:/srv/app/a.py");
  EXPECT_EQ(python.not_probeable, "");
}

TEST(MapName, SpellingsOfJitscopeMapAndPerfMapAgent) {
  struct Case {
    const char* raw;
    const char* shown;
  };
  const Case cases[] = {
      {"com.shop.Order::total", "com.shop.Order.total"},
      {"com/shop/Order::total", "com.shop.Order.total"},
      {"com.shop.Order::total(int,java.lang.String)", "com.shop.Order.total(int,java.lang.String)"},
      {"com.shop.Order::total(Order.java:12)", "com.shop.Order.total"},
      {"com.shop.Order::total(line:12)", "com.shop.Order.total"},
      {"com.shop.Order::<init>", "com.shop.Order.<init>"},
      {"Lcom/shop/Order;::total", "com.shop.Order.total"},
  };
  for (const Case& each : cases) {
    const MapName parsed = parse_map_name(Runtime::hotspot, each.raw);
    EXPECT_EQ(parsed.name.display(), each.shown) << each.raw;
    EXPECT_EQ(parsed.tier, Tier::unknown) << each.raw;
  }
  for (const char* raw :
       {"StubRoutines (1)", "I2C/C2I adapters", "a b::c d", "::x", "x::", "A::b::c"}) {
    EXPECT_EQ(parse_map_name(Runtime::hotspot, raw).tier, Tier::stub) << raw;
  }
}

// Lines of Bun 1.4's jitdump (JSC_useJITDump).
TEST(MapName, TiersOfJavaScriptCore) {
  struct Case {
    const char* raw;
    const char* shown;
    Tier tier;
  };
  const Case cases[] = {
      {"JSC-Baseline: fib#EoE7sP", "fib#EoE7sP", Tier::baseline},
      {"JSC-DFG: fib#EoE7sP", "fib#EoE7sP", Tier::dfg},
      {"JSC-FTL: fib#EoE7sP", "fib#EoE7sP", Tier::ftl},
      {"JSC-Baseline: #DLjs6u", "#DLjs6u", Tier::baseline},
      {"JSC-WasmBBQ: .wasm-function[0]#BmhKNQ", ".wasm-function[0]#BmhKNQ", Tier::bbq},
      {"JSC-WasmOMG: .wasm-function[0]#BmhKNQ", ".wasm-function[0]#BmhKNQ", Tier::omg},
      {"JSC-DFGOSREntry: unspecified", "JSC-DFGOSREntry: unspecified", Tier::stub},
      {"JSC-Thunk: DefaultCall", "JSC-Thunk: DefaultCall", Tier::stub},
      {"JSC-YarrJIT: /b+/g", "JSC-YarrJIT: /b+/g", Tier::stub},
      {"JSC-FTL: ", "JSC-FTL: ", Tier::stub},
      {"JSC-x y: z", "JSC-x y: z", Tier::unknown},
      {"JSC-FTL", "JSC-FTL", Tier::unknown},
  };
  for (const Case& each : cases) {
    const MapName parsed = parse_map_name(Runtime::unknown, each.raw);
    EXPECT_EQ(parsed.name.display(), each.shown) << each.raw;
    EXPECT_EQ(parsed.name.raw, each.raw);
    EXPECT_EQ(parsed.tier, each.tier) << each.raw;
    const auto pattern = Pattern::parse(each.shown);
    if (pattern && each.tier != Tier::stub) {
      EXPECT_TRUE(pattern->matches(parsed.name)) << each.raw;
    }
  }
}

}  // namespace
}  // namespace jitscope
