// Where a live image may lie: chosen in mount namespaces made for the purpose.
#include "probe/image_home.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "probe/image_lock.h"

namespace jitscope {
namespace {

using testing::HasSubstr;

// A child that has prepared itself and waits to be killed.
class WaitingChild {
 public:
  explicit WaitingChild(const std::function<bool()>& prepare) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char answer = prepare() ? 'y' : 'n';
      (void)!::write(ends[1], &answer, 1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char answer = 'n';
    (void)!::read(ends[0], &answer, 1);
    ::close(ends[0]);
    ready_ = answer == 'y';
  }
  WaitingChild(const WaitingChild&) = delete;
  WaitingChild& operator=(const WaitingChild&) = delete;
  ~WaitingChild() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

bool own_mounts() {
  return ::unshare(CLONE_NEWNS) == 0 &&
         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}
bool tmpfs(const char* directory, unsigned long flags, const char* options) {
  return ::mount("tmpfs", directory, "tmpfs", flags, options) == 0;
}

TEST(IsImageName, TheNamesThatImagesGet) {
  EXPECT_TRUE(is_image_name("/tmp/jitscope-123-0a1b2c3d.so"));
  EXPECT_TRUE(is_image_name("/memfd:jitscope-123"));
  EXPECT_TRUE(is_image_name("jitscope-1-ff.so"));
  EXPECT_FALSE(is_image_name("/usr/bin/jitscope"));
  EXPECT_FALSE(is_image_name("/jitscope-1/libc.so"));
  EXPECT_FALSE(is_image_name("/memfd:doublemapper"));
  EXPECT_FALSE(is_image_name("/tmp/xjitscope-1-2.so"));
  EXPECT_FALSE(is_image_name(""));
  EXPECT_FALSE(is_image_name("/"));
}

TEST(CreateImageFile, ForATargetThatSeesTheSameFiles) {
  const WaitingChild child([] {
    ::umask(0777);
    return true;
  });
  auto process = Process::open(child.pid());
  ASSERT_TRUE(process);
  const mode_t old = ::umask(0777);
  auto home = create_image_file(*process, 4096);
  ::umask(old);
  ASSERT_TRUE(home) << to_string(home.error());
  EXPECT_EQ(home->path_here, home->path_in_target);
  EXPECT_TRUE(is_image_name(home->path_here));
  EXPECT_THAT(home->path_here, HasSubstr("jitscope-" + std::to_string(child.pid()) + "-"));
  EXPECT_THAT(home->path_here, testing::EndsWith(".so"));
  struct stat by_path{};
  struct stat by_fd{};
  ASSERT_EQ(::stat(home->path_here.c_str(), &by_path), 0);
  ASSERT_EQ(::fstat(home->fd.get(), &by_fd), 0);
  EXPECT_EQ(by_path.st_ino, by_fd.st_ino);
  EXPECT_EQ(by_path.st_mode & 0777U, 0755U);
  EXPECT_EQ(::write(home->fd.get(), "x", 1), 1);
  EXPECT_THAT(find_image_files(*process), testing::ElementsAre(home->path_here));
  auto second = create_image_file(*process, 4096);
  ASSERT_TRUE(second);
  EXPECT_NE(second->path_here, home->path_here);
  ::unlink(home->path_here.c_str());
  ::unlink(second->path_here.c_str());
  EXPECT_TRUE(find_image_files(*process).empty());
}

TEST(CreateImageFile, PassesOverWhatWillNotDo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for a mount namespace";
  const WaitingChild child([] {
    return own_mounts() && tmpfs("/tmp", MS_NOEXEC, nullptr) && tmpfs("/var/tmp", 0, "size=4k") &&
           tmpfs("/dev/shm", MS_RDONLY, nullptr) && tmpfs("/run", 0, nullptr) && ::chdir("/") == 0;
  });
  if (!child.ready()) GTEST_SKIP() << "no mount namespace can be made here";
  auto process = Process::open(child.pid());
  ASSERT_TRUE(process);
  auto home = create_image_file(*process, 512 * 1024);
  ASSERT_TRUE(home) << to_string(home.error());
  EXPECT_THAT(home->path_in_target, testing::StartsWith("/run/jitscope-"));
  EXPECT_EQ(home->path_here,
            "/proc/" + std::to_string(child.pid()) + "/root" + home->path_in_target);
  struct stat info{};
  EXPECT_EQ(::stat(home->path_here.c_str(), &info), 0);
  EXPECT_NE(::stat(home->path_in_target.c_str(), &info), 0);  // not in our own /run
  EXPECT_THAT(home->passed_over,
              testing::ElementsAre("/tmp: mounted noexec", "/var/tmp: no space left",
                                   "/dev/shm: read only"));
  EXPECT_THAT(find_image_files(*process), testing::ElementsAre(home->path_here));
}

TEST(CreateImageFile, SaysWhyNothingWillDo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for a mount namespace";
  const WaitingChild child([] {
    bool fine = own_mounts() && ::chdir("/proc") == 0;
    for (const char* directory : {"/tmp", "/var/tmp", "/dev/shm", "/run"}) {
      fine = fine && tmpfs(directory, MS_NOEXEC, nullptr);
    }
    return fine && ::mount("proc", "/proc", "proc", MS_NOEXEC, nullptr) == 0 &&
           ::chdir("/proc") == 0;
  });
  if (!child.ready()) GTEST_SKIP() << "no mount namespace can be made here";
  auto process = Process::open(child.pid());
  ASSERT_TRUE(process);
  const auto home = create_image_file(*process, 4096);
  ASSERT_FALSE(home);
  EXPECT_EQ(home.error().kind, ErrorKind::not_possible);
  for (const char* part :
       {"/tmp: mounted noexec", "/var/tmp: ", "/dev/shm: ", "/run: ", "/proc: "}) {
    EXPECT_THAT(home.error().where, HasSubstr(part));
  }
  EXPECT_THAT(home.error().hint, HasSubstr("noexec"));
}

TEST(CreateImageFile, NotWhereStrangersCanExchangeFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for a mount namespace";
  const WaitingChild child([] {
    return own_mounts() && tmpfs("/tmp", 0, "mode=0777") &&
           tmpfs("/var/tmp", 0, "mode=0755,uid=65534") && tmpfs("/dev/shm", 0, "mode=0775") &&
           tmpfs("/run", 0, "mode=0777") && ::mkdir("/run/inner", 0755) == 0 &&
           ::chdir("/run/inner") == 0;
  });
  if (!child.ready()) GTEST_SKIP() << "no mount namespace can be made here";
  auto process = Process::open(child.pid());
  ASSERT_TRUE(process);
  const auto home = create_image_file(*process, 4096);
  ASSERT_FALSE(home) << home->path_here;
  for (const char* part :
       {"/tmp: others may rename files in it (no sticky bit)", "/var/tmp: belongs to user 65534",
        "/dev/shm: others may rename", "/run: others may rename",
        "/run/inner: a directory above it: others may rename"}) {
    EXPECT_THAT(home.error().where, HasSubstr(part));
  }
  EXPECT_TRUE(find_image_files(*process).empty());
}

TEST(CreateImageFile, TheTargetsOwnDirectoryWillDo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for a mount namespace";
  const WaitingChild child([] {
    bool fine = own_mounts();
    for (const char* directory : {"/tmp", "/var/tmp", "/dev/shm"}) {
      fine = fine && tmpfs(directory, MS_NOEXEC, nullptr);
    }
    return fine && tmpfs("/run", 0, "mode=0755,uid=65534") && ::chdir("/run") == 0 &&
           ::setresuid(65534, 65534, 65534) == 0;
  });
  if (!child.ready()) GTEST_SKIP() << "no mount namespace can be made here";
  auto process = Process::open(child.pid());
  ASSERT_TRUE(process);
  const auto home = create_image_file(*process, 4096);
  ASSERT_TRUE(home) << to_string(home.error());
}

TEST(CreateImageFile, IsHeldAndOnlyItsOwnNameIsTakenAway) {
  const WaitingChild child([] { return true; });
  auto process = Process::open(child.pid());
  ASSERT_TRUE(process);
  auto home = create_image_file(*process, 4096);
  ASSERT_TRUE(home) << to_string(home.error());
  const UniqueFd reader(::open(home->path_here.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(image_is_held(reader.get()));
  RemovedFiles files = remove_image_files(*process, false);
  EXPECT_EQ(files.removed, 0U);
  EXPECT_EQ(files.in_use, 1U);
  // Somebody put another file there.
  const std::string other = home->path_here + ".other";
  const UniqueFd theirs(::open(other.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  ASSERT_EQ(::rename(other.c_str(), home->path_here.c_str()), 0);
  remove_image_file(*home);
  struct stat info{};
  EXPECT_EQ(::stat(home->path_here.c_str(), &info), 0);
  home->fd.reset();
  EXPECT_FALSE(image_is_held(reader.get()));
  files = remove_image_files(*process, false);
  EXPECT_EQ(files.removed, 1U);
  EXPECT_EQ(files.in_use, 0U);
}

TEST(CreateImageFile, ALinkInTheTargetsRootDoesNotLeadOutOfIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for chroot";
  std::string root = testing::TempDir() + "/image-home-root-XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::string trap = testing::TempDir() + "/image-home-trap-XXXXXX";
  ASSERT_NE(::mkdtemp(trap.data()), nullptr);
  namespace fs = std::filesystem;
  fs::create_directory(root + "/run");
  fs::create_directory(root + "/var");
  fs::create_symlink(trap, root + "/tmp");  // the last part of the path
  fs::create_directory(trap + "/shm");
  fs::create_symlink(trap, root + "/dev");  // a part on the way
  {
    const WaitingChild child([&] { return ::chroot(root.c_str()) == 0 && ::chdir("/") == 0; });
    ASSERT_TRUE(child.ready());
    auto process = Process::open(child.pid());
    ASSERT_TRUE(process);
    auto home = create_image_file(*process, 4096);
    ASSERT_TRUE(home) << to_string(home.error());
    EXPECT_THAT(home->path_in_target, testing::StartsWith("/run/jitscope-"));
    EXPECT_TRUE(fs::exists(root + home->path_in_target));
    EXPECT_THAT(home->passed_over, testing::Contains("/tmp: a symbolic link"));
    EXPECT_TRUE(fs::is_empty(trap + "/shm"));
    EXPECT_EQ(std::distance(fs::directory_iterator(trap), {}), 1);
  }
  fs::remove_all(root);
  fs::remove_all(trap);
}

}  // namespace
}  // namespace jitscope
