#include "runtimes/hotspot/signature.h"

#include <gtest/gtest.h>

#include "runtimes/hotspot/method_names.h"

namespace jitscope::hotspot {
namespace {

std::string names(std::string_view descriptor) {
  const auto signature = parse_signature(descriptor);
  return signature ? join_type_names(signature->parameters) + " -> " + signature->result
                   : "error: " + signature.error().what;
}

TEST(Signature, AllPrimitiveTypes) {
  EXPECT_EQ(names("(ZCBSIJFD)V"), "boolean,char,byte,short,int,long,float,double -> void");
}

TEST(Signature, ReferencesAndArrays) {
  EXPECT_EQ(names("(Ljava/lang/String;[I[[Ljava/util/Map$Entry;)[J"),
            "java.lang.String,int[],java.util.Map$Entry[][] -> long[]");
  const auto signature = parse_signature("([IJ)V");
  ASSERT_TRUE(signature);
  EXPECT_EQ(signature->parameters[0].type, ValueType::reference);
  EXPECT_EQ(signature->parameters[1].type, ValueType::long_);
}

TEST(Signature, NoParameters) {
  EXPECT_EQ(names("()D"), " -> double");
}

TEST(Signature, MalformedOnesAreErrors) {
  for (const std::string_view bad :
       {"", "V", "(", "()", "(I", "(I)", "(V)V", "(X)V", "(L;)V", "(Ljava/lang/String)V",
        "(Ljava/lang/String", "([)V", "(I)VV", "(I)Lx", "(La[b;)V", "(L(;)V", "()[V", "I)V"}) {
    EXPECT_FALSE(parse_signature(bad)) << bad;
  }
}

TEST(Signature, DimensionsAreBounded) {
  EXPECT_TRUE(parse_signature("(" + std::string(255, '[') + "I)V"));
  EXPECT_FALSE(parse_signature("(" + std::string(300, '[') + "I)V"));
  EXPECT_FALSE(parse_signature("(" + std::string(1 << 20, '[')));
}

TEST(Signature, ParametersAreBounded) {
  EXPECT_TRUE(parse_signature("(" + std::string(255, 'I') + ")V"));
  EXPECT_FALSE(parse_signature("(" + std::string(256, 'I') + ")V"));
}

TEST(Signature, ErrorShowsOnlyTheBeginning) {
  const auto signature = parse_signature("(" + std::string(100000, 'x'));
  ASSERT_FALSE(signature);
  EXPECT_LT(signature.error().what.size(), 200U);
}

TEST(ClassName, DotsAndInnerClasses) {
  EXPECT_EQ(java_class_name("java/util/Map$Entry"), "java.util.Map$Entry");
  EXPECT_EQ(java_class_name("Main"), "Main");
}

TEST(ClassName, AddressOfHiddenClassesIsReplaced) {
  EXPECT_EQ(java_class_name("a/Main$$Lambda$14+0x0000000800c03000"), "a.Main$$Lambda$14+<hidden>");
  EXPECT_EQ(java_class_name("a/Main$$Lambda/0x00007f2c1c000A00"), "a.Main$$Lambda+<hidden>");
}

TEST(ClassName, OnlyAnAddressAtTheEndIsReplaced) {
  EXPECT_EQ(java_class_name("a/0xyz"), "a.0xyz");
  EXPECT_EQ(java_class_name("a/0x12/B"), "a.0x12.B");
  EXPECT_EQ(java_class_name("a+0x"), "a+0x");
  EXPECT_EQ(java_class_name("+0x12"), "+0x12");
}

TEST(ModifiedUtf8, SurrogatePairsBecomeOneCharacter) {
  // U+1F600 as D83D DE00.
  EXPECT_TRUE(is_modified_utf8("\xed\xa0\xbd\xed\xb8\x80"));
  EXPECT_EQ(to_utf8("x\xed\xa0\xbd\xed\xb8\x80y"), "x\xf0\x9f\x98\x80y");
  EXPECT_EQ(to_utf8("\xed\xa0\xbdz"), "\xef\xbf\xbdz");
  EXPECT_EQ(to_utf8("\xed\xb8\x80"), "\xef\xbf\xbd");
  EXPECT_EQ(to_utf8("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(ModifiedUtf8, IllFormedTextIsRefused) {
  for (const std::string_view bad :
       {std::string_view("a\0b", 3), std::string_view("\x80"), std::string_view("\xc3"),
        std::string_view("\xe2\x82"), std::string_view("\xf0\x9f\x98\x80"),
        std::string_view("\xff")}) {
    EXPECT_FALSE(is_modified_utf8(bad));
  }
  EXPECT_TRUE(is_modified_utf8("\xc0\x80"));  // NUL in modified UTF-8
}

TEST(MethodInfo, InstanceMethodsHaveThisFirst) {
  const auto info = make_method_info("java/util/HashMap", "put",
                                     "(Ljava/lang/Object;I)Ljava/lang/Object;", 0x0001);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->name->display(), "java.util.HashMap.put(java.lang.Object,int)");
  EXPECT_EQ(info->name->raw, "java/util/HashMap.put(Ljava/lang/Object;I)Ljava/lang/Object;");
  ASSERT_EQ(info->parameters->size(), 3U);
  EXPECT_EQ(info->parameters->at(0).type_name, "this");
  EXPECT_EQ(info->parameters->at(2).type_name, "int");
}

TEST(MethodInfo, StaticMethodsHaveNoThis) {
  const auto info = make_method_info("A", "f", "(J)V", 0x0009);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->parameters->size(), 1U);
}

TEST(MethodInfo, MethodHandleIntrinsics) {
  EXPECT_TRUE(make_method_info("java/lang/invoke/MethodHandle", "linkToStatic", "()V", 0x0108)
                  ->method_handle_intrinsic);
  EXPECT_TRUE(make_method_info("java/lang/invoke/MethodHandle", "invokeBasic", "()V", 0x0110)
                  ->method_handle_intrinsic);
  EXPECT_FALSE(make_method_info("java/lang/invoke/MethodHandle", "asType", "()V", 0x0001)
                   ->method_handle_intrinsic);
  EXPECT_FALSE(
      make_method_info("my/MethodHandle", "linkToStatic", "()V", 0x0108)->method_handle_intrinsic);
}

// JVMS 4.2.1, 4.2.2: what is not forbidden is a name.
TEST(MethodInfo, NamesOfOtherLanguages) {
  for (const char* name : {"even (number)", "a*b", "say \"it's\" #1: x::y", "a)b((", "()", "-", " ",
                           "<init>", "lambda$0", "\xe6\x97\xa5", "f(I)"}) {
    const auto info = make_method_info("p/My (odd) Class", name, "(ILp/A (b);)V", 9);
    ASSERT_TRUE(info) << name;
    EXPECT_EQ(info->name->function, name);
    EXPECT_EQ(info->name->type, "p.My (odd) Class");
    EXPECT_EQ(info->name->parameters, "int,p.A (b)");
  }
  for (const char* name : {"a.b", "a;b", "a[b", "a/b", "()V", "(Ljava/lang/String;)V"}) {
    EXPECT_FALSE(make_method_info("A", name, "()V", 0)) << name;
  }
  EXPECT_FALSE(make_method_info("a.b", "f", "()V", 0));
}

TEST(MethodInfo, TextsThatAreNoNamesAreRefused) {
  EXPECT_FALSE(make_method_info("A", "f", "notadescriptor", 0));
  EXPECT_FALSE(make_method_info("A", "(I)V", "()V", 0));
  EXPECT_FALSE(make_method_info("[I", "f", "()V", 0));
  EXPECT_FALSE(make_method_info("Ljava/lang/Object;", "f", "()V", 0));
  EXPECT_FALSE(make_method_info("", "f", "()V", 0));
  EXPECT_FALSE(make_method_info("A", "", "()V", 0));
  EXPECT_TRUE(make_method_info("A", "<init>", "()V", 1));
}

}  // namespace
}  // namespace jitscope::hotspot
