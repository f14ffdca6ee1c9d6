// Labels of results, and the commit of a work tree.
#include "app/history_store.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "lib/base/error.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;

namespace {

namespace fs = std::filesystem;

const std::string kOne(40, '1'), kTwo(40, '2');

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::map<std::string, std::string> labels_of(const std::string& text) {
  Settings settings;
  settings.offer({"label", 0, OptionSpec::Kind::list, "", "", ""}, {text, "--label"});
  return read_labels(settings);
}

}  // namespace

TEST_CASE("the commit of a git work tree is read from its files") {
  const test::TemporaryFolder folder;
  const fs::path tree = folder.path() / "tree", git = tree / ".git";
  CHECK_FALSE(git_head(folder.path()));
  write(git / "HEAD", kOne + '\n');
  CHECK(git_head(tree) == kOne);
  fs::create_directories(tree / "a/b");
  CHECK(git_head(tree / "a/b") == kOne);
  write(git / "HEAD", "ref: refs/heads/main\n");
  CHECK_FALSE(git_head(tree));  // without a commit
  write(git / "packed-refs",
        "# pack-refs\n" + kOne + " refs/heads/other/main\n" + kTwo + " refs/heads/main\n");
  CHECK(git_head(tree) == kTwo);
  write(git / "refs/heads/main", kOne + '\n');
  CHECK(git_head(tree) == kOne);
  // Another work tree of the repository has only its own HEAD.
  const fs::path other = folder.path() / "other";
  write(other / ".git", "gitdir: ../tree/.git/worktrees/other\n");
  write(git / "worktrees/other/HEAD", "ref: refs/heads/main\n");
  write(git / "worktrees/other/commondir", "../..\n");
  CHECK(git_head(other) == kOne);
  write(other / ".git", "something else\n");
  CHECK_FALSE(git_head(other));
}

TEST_CASE("labels are names with a text, which may have commas") {
  const auto labels = labels_of("commit=abc,def,node-2=x=y");
  CHECK(labels == std::map<std::string, std::string>{{"commit", "abc,def"}, {"node-2", "x=y"}});
  for (const char* wrong : {"x", "=x", "commit=", "Commit=x"})
    CHECK_THROWS_AS(labels_of(wrong), Error);
}
