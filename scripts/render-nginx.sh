#!/bin/sh
# Fills the template nginx.conf (render-nginx.sh TEMPLATE OUTPUT) from the environment, or refuses in the words of tunnel/src/{dsn,settings}.ts.
# Settings of its own: LISTEN, TUNNELS, WEB (addresses), RESOLVER (name server or none), NGINX_TEMP (folder on a disk), ACCESS_LOG (else a file there).
set -eu
mkdir -p "${NGINX_TEMP:?}" && NGINX_USER=$([ "$(id -u)" -ne 0 ] || echo "$(id -un) $(id -gn)") # root's workers have to reach NGINX_TEMP too
: "${LISTEN:?} ${TUNNELS:?} ${WEB:?}" && NGINX_USER=$NGINX_USER OUTPUT=$2 LC_ALL=C exec awk '
function fault(name, text) {
  if (name == "SENTRY_DSN" && !dsn(text)) return "is not a DSN; write it as Sentry shows it, like https://key@o1.ingest.us.sentry.io/2, several separated by spaces or commas"
  if (name == "TUNNEL_PATHS" && text !~ /^(\/[A-Za-z0-9_-]+)+$/) return "is not a path; write one like /monitoring (letters, digits, - and _ between slashes), several separated by |"
  if (name == "TUNNEL_PATHS" && text ~ /^\/(_next|console|healthz|lab)(\/|$)/) return "is served by the web app; choose one outside /_next, /console, /healthz and /lab"
  if (name == "DERIVED_PATHS" && text !~ /^(on|off)$/) return "is neither on nor off; write one of the two"
  if (name == "TRUSTED_PROXIES" && !network(text)) return "is not a network; write addresses or CIDRs like 10.0.0.0/8, separated by commas or spaces"
  if (name == "MAX_ENVELOPE_BYTES" && (text !~ /^[1-9][0-9]*$/ || text + 0 < 1024 || text + 0 > 1073741824)) return "is not a number of bytes; write a whole number from 1024 to 1073741824" }
function network(text,  part, groups) { split(text, part, "/"); sub(":" ip4 "$", ":0:0", part[1])
  if (text ~ "^" ip4 "(/([12]?[0-9]|3[0-2]))?$") return 1
  if (part[1] !~ /^[0-9A-Fa-f:]+$/ || part[1] ~ /[^:][^:][^:][^:][^:]|:::|::.*::|^:[^:]|[^:]:$/) return 0
  groups = gsub(/[^:]+/, "x", part[1]); return (part[1] ~ /::/ ? groups < 8 : groups == 8) && text ~ "^[^/]+(/([1-9]?[0-9]|1[01][0-9]|12[0-8]))?$" }
function dsn(text,  host) { # as SDKs write it, or nothing
  if (tolower(text) !~ /^https?:\/\/[a-z0-9_]+(:[a-z0-9_]*)?@(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]+)?\/([a-z0-9_.~-]+\/)*(0|[1-9][0-9]*)$/) return ""
  if (match(text, /:[0-9]+\//) && (RLENGTH > 7 || substr(text, RSTART + 1, RLENGTH - 2) + 0 > 65535) || text ~ /\/\.\.?\// || match(text, /[0-9]+$/) && RLENGTH > 20) return ""
  sub(/:[^\/@]*@/, "@", text); sub(tolower(text) ~ /^https/ ? ":443/" : ":80/", "/", text); match(text, /@[^\/]*/); host = substr(text, RSTART, RLENGTH)
  return tolower(substr(text, 1, 5)) substr(text, 6, RSTART - 6) tolower(host) substr(text, RSTART + RLENGTH) }
function shown(text,  at, rest) { at = index(text, "://"); rest = substr(text, at + 3) # a DSN without its legacy secret
  if (text ~ /^[^@]*:\/\/[^:@]*:[^@]*@/) sub(/:[^@]*@/, ":…@", rest); return substr(text, 1, at + 2) rest }
function derived(text,  hash, i, bit, path) { # FNV-1a-32 in base 36
  for (hash = 2166136261; ++i <= length(text); hash = (hash % 256 * 16777216 + hash * 403) % 4294967296)
    for (bit = 1; bit < 128; bit *= 2) if (int(index(ascii, substr(text, i, 1)) / bit) % 2) hash += int(hash / bit) % 2 ? -bit : bit
  do path = substr("0123456789abcdefghijklmnopqrstuvwxyz", hash % 36 + 1, 1) path; while (hash = int(hash / 36)); return "/" path }
function read(name, fallback, by,  text, n, i, each, words) { text = ENVIRON[name]; gsub(/^[[:space:]]+|[[:space:]]+$/, "", text); n = split(text == "" ? fallback : text, each, by)
  for (i = 1; i <= n; i++) if (each[i] != "" || by == "[|]") { values[name] = values[name] each[i] "\n"
    if (words = fault(name, each[i])) { problems = problems name ": \"" (name == "SENTRY_DSN" ? shown(each[i]) : each[i]) "\" " words "\n"; count++ } } }
BEGIN { ip4 = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"; ip4 = ip4 "[.]" ip4 "[.]" ip4 "[.]" ip4; while (++c < 127) ascii = ascii sprintf("%c", c); list = "[[:space:],]+"
  read("SENTRY_DSN", "https://culvert@inbox.invalid/1", list); read("TUNNEL_PATHS", "/monitoring", "[|]"); read("DERIVED_PATHS", "off", SUBSEP); read("TRUSTED_PROXIES", "", list); read("MAX_ENVELOPE_BYTES", 104857600, SUBSEP)
  read("LISTEN", "", list); read("TUNNELS", "", list); read("WEB", "", list); read("RESOLVER", "", SUBSEP); read("NGINX_TEMP", "", SUBSEP); read("ACCESS_LOG", ENVIRON["NGINX_TEMP"] "/access.log", SUBSEP); read("NGINX_USER", "", SUBSEP)
  if (count) { printf "culvert nginx: cannot start, %d problem(s):\n%s", count, problems | "cat 1>&2"; close("cat 1>&2"); exit 1 }
  n = split(values["SENTRY_DSN"], each, "\n"); while (values["DERIVED_PATHS"] == "on\n" && --n) values["TUNNEL_PATHS"] = values["TUNNEL_PATHS"] derived(dsn(each[n])) "\n"
  gsub(/\n/, "|", values["TUNNEL_PATHS"]); sub(/[|]$/, "\n", values["TUNNEL_PATHS"]); if (values["RESOLVER"]) { gsub(/\n/, " resolve\n", values["TUNNELS"]); gsub(/\n/, " resolve\n", values["WEB"]) } }
match($0, /@[A-Z_]+@/) { n = split(values[substr($0, RSTART + 1, RLENGTH - 2)], each, "\n"); for (i = 1; i < n; i++) print substr($0, 1, RSTART - 1) each[i] substr($0, RSTART + RLENGTH) > ENVIRON["OUTPUT"]; next }
{ print > ENVIRON["OUTPUT"] }' <"$1"
