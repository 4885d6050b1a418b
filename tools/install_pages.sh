#!/bin/sh
# Installs what `berth` writes about itself: manual pages, and completion for three shells. Run by
# `meson install`, which says where to.
#
#     install_pages.sh BERTH
set -eu

to=$MESON_INSTALL_DESTDIR_PREFIX/share
bash=$to/bash-completion/completions
zsh=$to/zsh/site-functions
fish=$to/fish/vendor_completions.d
mkdir -p "$to/man/man1" "$bash" "$zsh" "$fish"
"$1" man --into "$to/man/man1"
"$1" completion bash >"$bash/berth"
"$1" completion zsh >"$zsh/_berth"
"$1" completion fish >"$fish/berth.fish"
chmod 644 "$to/man/man1"/berth*.1 "$bash/berth" "$zsh/_berth" "$fish/berth.fish"
