#!/bin/sh
# Installs what the programs write about themselves: manual pages, and completion for three shells.
# Run by `meson install`, which says where to.
#
#     install_pages.sh BERTH BERTHD BERTH-AGENT
set -eu

to=$MESON_INSTALL_DESTDIR_PREFIX/share
bash=$to/bash-completion/completions
zsh=$to/zsh/site-functions
fish=$to/fish/vendor_completions.d
mkdir -p "$to/man/man1" "$to/man/man8" "$bash" "$zsh" "$fish"

# page PROGRAM SUMMARY: its --help, as it is, as a manual page
page() {
        name=$(basename "$1")
        {
                printf '.TH "%s" 8 "" "berth" "berth"\n.SH NAME\n%s \\- %s\n' \
                        "$(echo "$name" | tr a-z A-Z)" "$name" "$2"
                printf '.SH DESCRIPTION\n.nf\n'
                "$1" --help | sed 's/\\/\\e/g; s/-/\\-/g; s/^[.'"'"']/\\\&&/'
                printf '.fi\n.SH SEE ALSO\nberth(1)\n'
        } >"$to/man/man8/$name.8"
}

"$1" man --into "$to/man/man1"
page "$2" "the controller of a shared pool of accelerators"
page "$3" "has the runs on a node that the pool's controller wants"
"$1" completion bash >"$bash/berth"
"$1" completion zsh >"$zsh/_berth"
"$1" completion fish >"$fish/berth.fish"
chmod 644 "$to/man/man1"/berth*.1 "$to/man/man8"/berth*.8 "$bash/berth" "$zsh/_berth" \
        "$fish/berth.fish"
