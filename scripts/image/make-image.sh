#!/bin/sh
# An OCI image of podloop from Debian's packages: the observer for a DaemonSet, and every other command.
#
#   npm run release
#   sudo sh scripts/image/make-image.sh release/podloop_0.1.0_amd64.deb /tmp/podloop-image
#   skopeo copy oci:/tmp/podloop-image:0.1.0 docker://registry.example/podloop:0.1.0
#
# It writes an image layout (the folder must not be there) with one layer: Debian's essential packages, Node.js, and the package.
# The same package, the same state of Debian's archive and the same time give the same digest: all times are SOURCE_DATE_EPOCH, which
# is that of the last commit unless it is set.
#
#   apt-get install mmdebstrap umoci skopeo
set -eu

deb=$(realpath "${1:?name the Debian package of podloop}")
layout=${2:?name the folder of the image}
# The first release of Debian whose Node.js is new enough.
suite=${SUITE:-trixie}
# Packages come from where this machine has its own from, unless a file of sources is named.
sources=${SOURCES:-/etc/apt/sources.list.d/debian.sources}
here=$(. /etc/os-release && echo "$VERSION_CODENAME")

if [ -e "$layout" ]; then
  echo "make-image: $layout is there already" >&2
  exit 1
fi
for program in mmdebstrap umoci; do
  command -v "$program" >/dev/null || { echo "make-image: $program is missing: apt-get install $program" >&2; exit 1; }
done

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
created=$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
version=$(dpkg-deb --field "$deb" Version)
architecture=$(dpkg-deb --field "$deb" Architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed "s/\b$here\b/$suite/g; s/\b$here-/$suite-/g" "$sources" >"$work/debian.sources"

# Nothing that says when or where it was made, and no documents, lists or caches.
mmdebstrap --variant=essential --include=nodejs,ca-certificates --architectures="$architecture" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --customize-hook="copy-in '$deb' /tmp" \
  --customize-hook='chroot "$1" sh -c "dpkg -i /tmp/*.deb && rm /tmp/*.deb"' \
  --customize-hook='rm -rf "$1"/var/cache/* "$1"/var/log/* "$1"/var/lib/apt/lists/* "$1"/etc/apt/sources.list.d/*' \
  --customize-hook='rm -f "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/etc/machine-id "$1"/var/lib/dpkg/*-old' \
  "$suite" "$work/root.tar" "$work/debian.sources" >&2

image="$layout:$version"
umoci init --layout "$layout"
umoci new --image "$image"
umoci raw add-layer --image "$image" --history.created "$created" \
  --history.created_by "Debian $suite and podloop $version" "$work/root.tar"
umoci config --image "$image" --no-history --created "$created" --architecture "$architecture" --os linux \
  --config.entrypoint podloop --config.cmd observe \
  --config.env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  --config.env UV_THREADPOOL_SIZE=16 \
  --config.label org.opencontainers.image.title=podloop \
  --config.label org.opencontainers.image.version="$version" \
  --config.label org.opencontainers.image.licenses=Apache-2.0
umoci gc --layout "$layout"
echo "$image" "$(sed -n 's/.*"digest":"\(sha256:[0-9a-f]*\)".*/\1/p' "$layout/index.json" | head -n 1)"
