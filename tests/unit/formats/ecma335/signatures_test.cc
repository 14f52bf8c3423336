#include "formats/ecma335/signatures.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "support/ecma_builder.h"

namespace jitscope {
namespace {

using test::bytes_of;
using test::EcmaBuilder;

class Signatures : public testing::Test, public EcmaModules {
 protected:
  Signatures() {
    EcmaBuilder builder;
    builder.module("Sample.dll");
    builder.assembly("Sample");
    const uint32_t runtime = builder.assembly_ref("System.Runtime");
    builder.type_ref(EcmaBuilder::in_assembly(runtime), "System", "Type");    // 5
    builder.type_ref(EcmaBuilder::in_assembly(runtime), "System", "Func`2");  // 9
    builder.type_ref(EcmaBuilder::in_type_ref(2), "", "In");                  // 0d
    builder.module_ref("native.netmodule");
    builder.type_ref(EcmaBuilder::in_module_ref(1), "", "Other");  // 11
    builder.type_ref(EcmaBuilder::in_module(), "", "Here");        // 15
    builder.type_ref(0, "", "Anywhere");                           // 19
    builder.type_def("", "<Module>");                              // 4
    builder.type_def("My", "Box`1");                               // 8
    builder.type_def("", "Lid");                                   // 0c
    builder.nested(3, 2);
    builder.type_spec(bytes_of({0x15, 0x12, 0x08, 1, 0x0e}));  // 6
    builder.type_spec(bytes_of({0x12, 0x0a}));                 // 0a: itself
    bytes_ = builder.build();
    auto parsed = EcmaMetadata::parse(std::as_bytes(std::span(bytes_)));
    EXPECT_TRUE(parsed);
    if (parsed) metadata_ = *parsed;
  }

  [[nodiscard]] const EcmaMetadata* module(uint32_t index) const override {
    return index == 3 ? &metadata_ : nullptr;
  }

  [[nodiscard]] std::string method(const std::string& signature) const {
    const auto text = il_method(metadata_, std::as_bytes(std::span(signature)), "T::M");
    return text ? *text : "";
  }
  // As what a method returns.
  [[nodiscard]] std::string il(const std::string& type) const {
    const std::string text = method(bytes_of({0, 0}) + type);
    return text.substr(0, text.find(" T::M()"));
  }
  [[nodiscard]] std::string type(const std::string& signature,
                                 EcmaSpelling spelling = EcmaSpelling::runtime) const {
    ByteCursor cursor(signature);
    const auto text = type_text(cursor, &metadata_, this, spelling);
    ByteCursor skipped(signature);
    EXPECT_EQ(text.has_value(), text && skip_type(skipped));
    if (text) {
      EXPECT_EQ(cursor.offset(), skipped.offset());
    }
    return text ? *text : "";
  }

  std::string bytes_;
  EcmaMetadata metadata_;
};

TEST_F(Signatures, Primitives) {
  for (const auto& [element, il_name, type_name] :
       {std::tuple{0x01, "void", "System.Void"}, std::tuple{0x02, "bool", "System.Boolean"},
        std::tuple{0x03, "char", "System.Char"}, std::tuple{0x04, "int8", "System.SByte"},
        std::tuple{0x05, "uint8", "System.Byte"}, std::tuple{0x06, "int16", "System.Int16"},
        std::tuple{0x07, "uint16", "System.UInt16"}, std::tuple{0x08, "int32", "System.Int32"},
        std::tuple{0x09, "uint32", "System.UInt32"}, std::tuple{0x0a, "int64", "System.Int64"},
        std::tuple{0x0b, "uint64", "System.UInt64"}, std::tuple{0x0c, "float32", "System.Single"},
        std::tuple{0x0d, "float64", "System.Double"}, std::tuple{0x0e, "string", "System.String"},
        std::tuple{0x16, "typedref", "System.TypedReference"},
        std::tuple{0x18, "native int", "System.IntPtr"},
        std::tuple{0x19, "native uint", "System.UIntPtr"},
        std::tuple{0x1c, "object", "System.Object"}}) {
    EXPECT_EQ(il(bytes_of({element})), il_name);
    EXPECT_EQ(type(bytes_of({element})), type_name);
  }
}

TEST_F(Signatures, Types) {
  EXPECT_EQ(il(bytes_of({0x12, 0x05})), "class [System.Runtime]System.Type");
  EXPECT_EQ(il(bytes_of({0x11, 0x0d})), "valuetype [System.Runtime]System.Func`2/In");
  EXPECT_EQ(il(bytes_of({0x12, 0x11})), "class [.module native.netmodule]Other");
  EXPECT_EQ(il(bytes_of({0x12, 0x15})), "class Here");
  EXPECT_EQ(il(bytes_of({0x12, 0x19})), "class [*]Anywhere");
  EXPECT_EQ(il(bytes_of({0x12, 0x0c})), "class My.Box`1/Lid");
  EXPECT_EQ(il(bytes_of({0x12, 0x06})), "class class My.Box`1<string>") << "of a TypeSpec";
  EXPECT_EQ(il(bytes_of({0x13, 2})), "!2");
  EXPECT_EQ(il(bytes_of({0x1e, 1})), "!!1");
  EXPECT_EQ(il(bytes_of({0x1d, 0x0e})), "string[]");
  EXPECT_EQ(il(bytes_of({0x1d, 0x1d, 0x0e})), "string[][]");
  EXPECT_EQ(il(bytes_of({0x10, 0x0f, 0x01})), "void*&");
  EXPECT_EQ(il(bytes_of({0x45, 0x10, 0x08})), "int32& pinned");
  EXPECT_EQ(il(bytes_of({0x1f, 0x05, 0x10, 0x13, 0})), "!0& modreq([System.Runtime]System.Type)");
  EXPECT_EQ(il(bytes_of({0x20, 0x05, 0x08})), "int32 modopt([System.Runtime]System.Type)");
  EXPECT_EQ(il(bytes_of({0x15, 0x12, 0x09, 2, 0x08, 0x1d, 0x0e})),
            "class [System.Runtime]System.Func`2<int32,string[]>");
  EXPECT_EQ(il(bytes_of({0x1b, 0, 1, 0x1c, 0x0f, 0x01})), "method object *(void*)");
  EXPECT_EQ(il(bytes_of({0x1b, 9, 0, 0x01})), "method unmanaged void *()");
}

TEST_F(Signatures, Arrays) {
  EXPECT_EQ(il(bytes_of({0x14, 0x08, 1, 0, 0})), "int32[...]");
  EXPECT_EQ(il(bytes_of({0x14, 0x08, 3, 0, 0})), "int32[,,]");
  EXPECT_EQ(il(bytes_of({0x14, 0x08, 2, 2, 3, 4, 0})), "int32[3,4]");
  EXPECT_EQ(il(bytes_of({0x14, 0x08, 2, 0, 2, 0, 0})), "int32[0...,0...]");
  EXPECT_EQ(il(bytes_of({0x14, 0x08, 1, 1, 5, 1, 2})), "int32[1...5]");
  EXPECT_EQ(il(bytes_of({0x14, 0x08, 1, 0, 1, 0x7b})), "int32[-3...]");
  EXPECT_EQ(type(bytes_of({0x14, 0x08, 1, 0, 0})), "System.Int32[*]");
  EXPECT_EQ(type(bytes_of({0x14, 0x08, 3, 1, 5, 1, 2})), "System.Int32[,,]");
  for (const std::string& bad :
       {bytes_of({0x14, 0x08, 0, 0, 0}), bytes_of({0x14, 0x08, 33, 0, 0}),
        bytes_of({0x14, 0x08, 1, 2, 1, 1, 0}), bytes_of({0x14, 0x08, 1, 0, 2, 1, 1}),
        bytes_of({0x14, 0x08, 1})}) {
    EXPECT_EQ(il(bad), "");
    EXPECT_EQ(type(bad), "");
  }
}

TEST_F(Signatures, TypeHandles) {
  const std::string box = bytes_of({0x15, 0x12, 0x08, 1, 0x3e});
  EXPECT_EQ(type(box), "My.Box`1[System.__Canon]");
  EXPECT_EQ(type(box, EcmaSpelling::csharp), "My.Box<System.__Canon>");
  const std::string nested = bytes_of({0x15, 0x11, 0x0d, 2}) + box + bytes_of({0x1d, 0x08});
  EXPECT_EQ(type(nested), "System.Func`2+In[My.Box`1[System.__Canon],System.Int32[]]");
  EXPECT_EQ(type(nested, EcmaSpelling::csharp),
            "System.Func<My.Box<System.__Canon>,System.Int32[]>+In");
  EXPECT_EQ(type(bytes_of({0x0f, 0x01})), "System.Void*");
  EXPECT_EQ(type(bytes_of({0x10, 0x1c})), "System.Object&");
  EXPECT_EQ(type(bytes_of({0x1b, 0x10, 1, 1, 0x01, 0x1e, 0})), "(fnptr)");
  EXPECT_EQ(type(bytes_of({0x3d, 0x11, 0x0c})), "VALUETYPEMy.Box`1+Lid");
  EXPECT_EQ(type(bytes_of({0x13, 1})), "!1");
  EXPECT_EQ(type(bytes_of({0x1e, 1})), "!!1");
}

TEST_F(Signatures, TypesOfOtherModules) {
  EXPECT_EQ(type(bytes_of({0x3f, 3, 0x12, 0x0c})), "My.Box`1+Lid");
  EXPECT_EQ(type(bytes_of({0x3f, 3, 0x15, 0x12, 0x08, 1, 0x08})), "My.Box`1[System.Int32]");
  EXPECT_EQ(type(bytes_of({0x15, 0x3f, 3, 0x12, 0x08, 1, 0x08})), "My.Box`1[System.Int32]");
  const std::string unknown = bytes_of({0x3f, 4, 0x12, 0x0c});
  ByteCursor cursor(unknown);
  EXPECT_FALSE(type_text(cursor, &metadata_, this, EcmaSpelling::runtime));
  ByteCursor skipped(unknown);
  EXPECT_TRUE(skip_type(skipped)) << "its bytes are understood anyway";

  const auto head = [&](const std::string& bytes, const EcmaMetadata* own) {
    const auto found = type_head(ByteCursor(bytes), own, this);
    return found ? found->type.row : 0;
  };
  EXPECT_EQ(head(bytes_of({0x3f, 3, 0x15, 0x12, 0x08, 1, 0x08}), nullptr), 2U);
  EXPECT_EQ(head(bytes_of({0x15, 0x12, 0x08, 1, 0x08}), &metadata_), 2U);
  EXPECT_EQ(head(bytes_of({0x15, 0x12, 0x08, 1, 0x08}), nullptr), 0U);
  EXPECT_EQ(head(bytes_of({0x1d, 0x08}), &metadata_), 0U);
  EXPECT_EQ(head(bytes_of({0x15, 0x15, 0x15, 0x15, 0x12, 0x08}), &metadata_), 0U);
  EXPECT_EQ(head(bytes_of({0x12, 0x7c}), &metadata_), 0U) << "no such row";
  // The arguments of a generic type are the outer module's again.
  const std::string outer = bytes_of({0x3f, 3, 0x15, 0x12, 0x08, 1, 0x12, 0x0c});
  ByteCursor without(outer);
  EXPECT_FALSE(type_text(without, nullptr, this, EcmaSpelling::runtime));
}

TEST_F(Signatures, Methods) {
  EXPECT_EQ(method(bytes_of({0x20, 2, 0x01, 0x08, 0x10, 0x13, 0})),
            "instance void T::M(int32,!0&)");
  EXPECT_EQ(method(bytes_of({0x60, 0, 0x01})), "explicit instance void T::M()");
  EXPECT_EQ(method(bytes_of({0x10, 2, 1, 0x1e, 1, 0x1d, 0x1e, 0})), "!!1 T::M(!!0[])");
  EXPECT_EQ(method(bytes_of({0x05, 2, 0x01, 0x08, 0x41, 0x0e})),
            "vararg void T::M(int32,...,string)");
  EXPECT_EQ(method(bytes_of({0x01, 0, 0x01})), "unmanaged cdecl void T::M()");
}

TEST_F(Signatures, DamagedOnes) {
  const std::string good = bytes_of({0x30, 1, 2, 0x15, 0x12, 0x09, 2, 0x08, 0x1d, 0x0e, 0x14, 0x08,
                                     2,    1, 3, 1,    0,    0x1b, 0, 0,    0x1f, 0x05, 0x08});
  EXPECT_NE(method(good), "");
  for (size_t size = 0; size < good.size(); ++size) EXPECT_EQ(method(good.substr(0, size)), "");
  for (const int element : {0x00, 0x17, 0x1a, 0x21, 0x22, 0x3c, 0x40, 0x77, 0xff}) {
    EXPECT_EQ(il(bytes_of({element, 0x08})), "") << element;
    EXPECT_EQ(type(bytes_of({element, 0x08})), "") << element;
  }
  EXPECT_EQ(method(bytes_of({0x06, 0x08})), "") << "a field";
  EXPECT_EQ(il(bytes_of({0x12, 0x03})), "") << "a token of no table";
  EXPECT_EQ(il(bytes_of({0x12, 0x00})), "") << "nil";
  EXPECT_EQ(il(bytes_of({0x12, 0x7d})), "") << "no such row";
  EXPECT_EQ(il(bytes_of({0x12, 0x0a})), "") << "a TypeSpec of itself";
}

TEST_F(Signatures, NeitherDepthNorLengthIsUnbounded) {
  const std::string deep_arrays = std::string(100000, '\x1d') + '\x08';
  EXPECT_EQ(il(deep_arrays), "");
  EXPECT_EQ(type(deep_arrays), "");
  std::string instances;
  for (int i = 0; i < 1000; ++i) instances += bytes_of({0x15, 0x12, 0x08, 1});
  EXPECT_EQ(il(instances + '\x08'), "");
  EXPECT_EQ(type(instances + '\x08'), "");
  EXPECT_NE(type(instances.substr(0, 4 * 15) + '\x08'), "");
  std::string functions;
  for (int i = 0; i < 1000; ++i) functions += bytes_of({0x1b, 0, 0});
  EXPECT_EQ(il(functions + '\x01'), "");
  EXPECT_EQ(type(functions + '\x01'), "");
  std::string many = bytes_of({0x15, 0x12, 0x09}) + test::packed(1U << 20U);
  many.append(1U << 20U, '\x08');
  EXPECT_EQ(il(many), "");
  EXPECT_EQ(type(many), "");
  std::string modifiers;
  for (int i = 0; i < 3000; ++i) modifiers += bytes_of({0x1f, 0x05});
  EXPECT_EQ(il(modifiers + '\x08'), "") << "3000 * 32 bytes";
}

}  // namespace
}  // namespace jitscope
