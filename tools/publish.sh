#!/usr/bin/env bash
# Push the built book, as one commit without history, to the branch gh-pages of REMOTE:
#
#     tools/publish.sh REMOTE [FOLDER]      # a remote's name, an address or a path; the book is in _build/html
#
# What was on that branch is replaced. The folder, the work tree and the index of this repository stay as they are.
set -euo pipefail

refuse() {
  echo "publish: $1" >&2
  exit 1
}

[ $# -ge 1 ] && [ $# -le 2 ] && [ -n "$1" ] || refuse "say where to: tools/publish.sh REMOTE [FOLDER]"
here=$(pwd) && cd "$(dirname "$0")/.."
remote=$1
if [ -d "$here/$remote" ]; then remote=$(cd "$here/$remote" && pwd); fi
site=${2:-_build/html}
command -v git >/dev/null || refuse "git is not installed"
git_folder=$(git rev-parse --absolute-git-dir 2>/dev/null) || refuse "this folder is no git repository, so nothing can be pushed from it"
for page in index.html search.html searchindex.js; do
  [ -s "$site/$page" ] || refuse "there is no whole book in $site ($page is missing): run 'make book' first"
done

# An index of its own, so that nothing of the reader's is touched.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export GIT_INDEX_FILE="$scratch/index" GIT_DIR="$git_folder"
export GIT_AUTHOR_NAME="tools/publish.sh" GIT_AUTHOR_EMAIL="publish@localhost"
export GIT_COMMITTER_NAME="$GIT_AUTHOR_NAME" GIT_COMMITTER_EMAIL="$GIT_AUTHOR_EMAIL"
git -C "$site" -c core.autocrlf=false --work-tree=. add --all --force .
# Without this file GitHub Pages leaves out every folder whose name begins with an underscore.
git update-index --add --cacheinfo "100644,$(git hash-object -w --stdin </dev/null),.nojekyll"
commit=$(git commit-tree "$(git write-tree)" -m "The book, built from $(git rev-parse --short HEAD)")
git push --force --quiet "$remote" "$commit:refs/heads/gh-pages"
echo "published $(git ls-files | wc -l) files as $(git rev-parse --short "$commit") on the branch gh-pages of $1"
