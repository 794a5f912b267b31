#!/bin/sh
# Fills the template nginx.conf (render-nginx.sh TEMPLATE OUTPUT) from the environment, as render-nginx.awk beside it says.
# NGINX_TEMP names a folder on a disk for all that nginx writes. Nothing is written where a setting is refused.
set -eu
mkdir -p "${NGINX_TEMP:?}"
: "${LISTEN:?}" "${INNER_LISTEN:?}" "${TUNNELS:?}" "${WEB:?}"

# Workers of root's nginx have to reach NGINX_TEMP too; who is not root has no say in who they are.
[ "$(id -u)" -eq 0 ] && NGINX_USER="$(id -un) $(id -gn)" || NGINX_USER=
export NGINX_USER

rendered=$(LC_ALL=C awk -f "${0%/*}/render-nginx.awk" "$1")
printf '%s\n' "$rendered" >"$2"
