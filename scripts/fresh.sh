#!/usr/bin/env bash
# Shows that a fresh Debian 12 suffices: installs one into a folder, clones the last commit into it, and runs
# demo.sh and test.sh there. Needs root, a network, and 2 GB; ends with 77 where it cannot be done.
# shellcheck source=scripts/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

((EUID == 0)) || { echo "[skip] fresh: needs root for a chroot"; exit 77; }
want debootstrap debootstrap
want git git
install_missing

place=$(mktemp -d /var/tmp/weft-fresh.XXXXXX)
# A folder with /proc mounted in it is not to be removed.
clean() {
  umount "$place/debian/proc" 2>/dev/null || true
  mountpoint -q "$place/debian/proc" || rm -rf --one-file-system "$place"
}
trap clean EXIT
log=$(mktemp -p "$place")
if ! debootstrap --variant=minbase bookworm "$place/debian" "${WEFT_DEBIAN_MIRROR:-http://deb.debian.org/debian}" \
  >"$log" 2>&1; then
  tail -n 5 "$log"
  echo "[skip] fresh: debootstrap does not work here"
  exit 77
fi
git clone --quiet --no-local "$root" "$place/debian/weft"
cp /etc/resolv.conf "$place/debian/etc/"
mount -t proc proc "$place/debian/proc" 2>/dev/null || true
for script in demo.sh test.sh; do
  echo "fresh: scripts/$script"
  chroot "$place/debian" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    "/weft/scripts/$script"
done
