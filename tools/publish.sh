#!/usr/bin/env bash
# Push the built book, as one commit without history, to the branch gh-pages of REMOTE:
#
#     tools/publish.sh REMOTE [FOLDER]      # a remote's name, an address or a path; the book is in _build/html
#
# What was on that branch is replaced. The folder, and this repository with its index, stay as they are.
set -euo pipefail

refuse() {
  echo "publish: $1" >&2
  exit 1
}

[ $# -ge 1 ] && [ $# -le 2 ] && [ -n "$1" ] || refuse "say where to: tools/publish.sh REMOTE [FOLDER]"
root=$(cd "$(dirname "$0")/.." && pwd)
remote=$1 site=${2:-$root/_build/html}
command -v git >/dev/null || refuse "git is not installed"
source=$(git -C "$root" describe --always --dirty 2>/dev/null) ||
  refuse "$root is no git repository with a commit, so nothing can be pushed from it"
for page in index.html search.html searchindex.js; do
  [ -s "$site/$page" ] || refuse "there is no whole book in $site ($page is missing): run 'make book' first"
done
[ ! -e "$site/../.unfinished" ] ||
  refuse "the last build of $site was cut off, failed, or is still at work: run 'make book' to its end first"

# An index and a store of objects of its own, so that nothing is left behind.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
GIT_DIR=$(git -C "$root" rev-parse --absolute-git-dir)
GIT_ALTERNATE_OBJECT_DIRECTORIES=$(cd "$root" && cd "$(git rev-parse --git-path objects)" && pwd)
export GIT_DIR GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_INDEX_FILE="$scratch/index" GIT_OBJECT_DIRECTORY="$scratch/objects"
mkdir "$GIT_OBJECT_DIRECTORY"
git -C "$site" -c core.autocrlf=false --work-tree=. add --all --force .
# Without this file GitHub Pages leaves out every folder whose name begins with an underscore.
git update-index --add --cacheinfo "100644,$(git hash-object -w --stdin </dev/null),.nojekyll"

export GIT_AUTHOR_NAME="tools/publish.sh" GIT_AUTHOR_EMAIL="publish@localhost"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
commit=$(git commit-tree "$(git write-tree)" -m "The book, built from $source")
git push --force --quiet "$remote" "$commit:refs/heads/gh-pages"
echo "published $(git ls-files | wc -l) files as $(git rev-parse --short "$commit") on the branch gh-pages of $remote"
