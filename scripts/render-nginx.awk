# Fills a template of nginx.conf from the environment, or refuses it in the words of tunnel/src/envelope/dsn.ts, tunnel/src/config/{settings,config}.ts.
#
# A line of the template that holds @NAME@ is written once for each value that NAME has: no value, no line.
# Written for every awk there is (mawk, BusyBox, gawk, macOS): no {n} in patterns, no bit operations, no functions of one awk alone.

BEGIN {
  LIST = "[[:space:],]+"; PATHS = "[|]"; WHOLE = SUBSEP # what stands between two values; WHOLE is nothing that a setting holds

  # Shared with web and the tunnel.
  read("SENTRY_DSN", "https://culvert@inbox.invalid/1", LIST)
  read("TUNNEL_PATHS", "/monitoring", PATHS)
  read("DERIVED_PATHS", "off", WHOLE)
  read("TRUSTED_PROXIES", "", LIST)
  read("MAX_ENVELOPE_BYTES", 104857600, WHOLE)
  read("ADDRESS_RATE", 200, WHOLE)
  read("ADDRESS_BURST", 2000, WHOLE)

  # nginx's own, set by whoever starts it: addresses, a name server or none, a certificate or none,
  # what only newer ones know, places on disk.
  read("LISTEN", "", LIST)
  read("INNER_LISTEN", "", WHOLE)
  read("LISTEN_TLS", "", LIST)
  read("TLS_CERTIFICATE", "", WHOLE)
  read("TLS_KEY", "", WHOLE)
  read("HTTP2", "", WHOLE)
  read("KEEPALIVE_MIN_TIMEOUT", "", WHOLE)
  read("TUNNELS", "", LIST)
  read("WEB", "", LIST)
  read("RESOLVER", "", WHOLE)
  read("NGINX_USER", "", WHOLE)
  read("NGINX_TEMP", "", WHOLE)
  read("ACCESS_LOG", ENVIRON["NGINX_TEMP"] "/access.log", WHOLE)

  if (problem_count) refuse()
  add_derived_paths()
  join_paths()
  values["INNER_PORT"] = port_of(values["INNER_LISTEN"])
  set_client_limits()
  if (values["RESOLVER"]) { look_up_again("TUNNELS"); look_up_again("WEB") }
}

match($0, /@[A-Z0-9_]+@/) {
  name = substr($0, RSTART + 1, RLENGTH - 2)
  before = substr($0, 1, RSTART - 1)
  after = substr($0, RSTART + RLENGTH)
  count = split(values[name], each, "\n")
  for (i = 1; i < count; i++) print before each[i] after
  next
}
{ print }

# Splits a setting into `values[name]`, each value with a line break behind it, and notes what is wrong with any.
function read(name, by_default, separator,   text, count, each, i, problem) {
  text = name == "SENTRY_DSN" ? secret(name) : ENVIRON[name]
  gsub(/^[[:space:]]+|[[:space:]]+$/, "", text)
  count = split(text == "" ? by_default : text, each, separator)
  for (i = 1; i <= count; i++) {
    if (each[i] == "" && separator != PATHS) continue # a list may end with its separator
    values[name] = values[name] each[i] "\n"
    if (problem = problem_of(name, each[i])) note(name, each[i], problem)
  }
}

# From its variable, or from the file that NAME_FILE names.
function secret(name,   file, text, line, result) {
  file = ENVIRON[name "_FILE"]
  if (ENVIRON[name] != "" && file != "") add_problem(name, "it is set twice; write either " name " or " name "_FILE")
  if (ENVIRON[name] != "" || file == "") return ENVIRON[name]
  while ((result = (getline line < file)) > 0) text = text line "\n"
  if (result < 0) note(name "_FILE", file, "cannot be read; write the path of a file that this process may read")
  return text
}

function note(name, value, problem) {
  add_problem(name, "\"" (name == "SENTRY_DSN" ? without_secret(value) : value) "\" " problem)
}

function add_problem(name, problem) {
  problems = problems name ": " problem "\n"
  problem_count++
}

function refuse() {
  printf "culvert nginx: cannot start, %d problem(s):\n%s", problem_count, problems | "cat 1>&2"
  close("cat 1>&2")
  exit 1
}

# What is wrong with a value and what to write, or nothing.
function problem_of(name, value) {
  if (name == "SENTRY_DSN" && !plain_dsn(value))
    return "is not a DSN; write it as Sentry shows it, like https://key@o1.ingest.us.sentry.io/2, several separated by spaces or commas"
  if (name == "TUNNEL_PATHS" && value !~ /^(\/[A-Za-z0-9_-]+)+$/)
    return "is not a path; write one like /monitoring (letters, digits, - and _ between slashes), several separated by |"
  if (name == "TUNNEL_PATHS" && value ~ /^\/(_next|console|healthz|lab)(\/|$)/)
    return "is served by the web app; choose one outside /_next, /console, /healthz and /lab"
  if (name == "DERIVED_PATHS" && value !~ /^(on|off)$/)
    return "is neither on nor off; write one of the two"
  if (name == "TRUSTED_PROXIES" && !is_network(value))
    return "is not a network; write addresses or CIDRs like 10.0.0.0/8, separated by commas or spaces"
  if (name == "MAX_ENVELOPE_BYTES") return problem_of_number(value, "number of bytes", 1024, 1073741824)
  if (name == "ADDRESS_RATE") return problem_of_number(value, "number of envelopes a second", 0, 1000000)
  if (name == "ADDRESS_BURST") return problem_of_number(value, "number of envelopes", 1, 1000000)
}

function problem_of_number(value, kind, min, max) {
  if (value ~ /^(0|[1-9][0-9]*)$/ && value + 0 >= min && value + 0 <= max) return ""
  return "is not a " kind "; write a whole number from " min " to " max
}

# An address or a CIDR, as node:net's isIP takes them.
function is_network(text,   byte, ipv4, part, groups) {
  byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
  ipv4 = byte "[.]" byte "[.]" byte "[.]" byte
  if (text ~ "^" ipv4 "(/([12]?[0-9]|3[0-2]))?$") return 1
  if (text !~ "^[^/]+(/([1-9]?[0-9]|1[01][0-9]|12[0-8]))?$") return 0

  split(text, part, "/")
  sub(":" ipv4 "$", ":0:0", part[1]) # IPv6 may end in an IPv4 address
  if (part[1] !~ /^[0-9A-Fa-f:]+$/) return 0
  if (part[1] ~ /[^:][^:][^:][^:][^:]/) return 0 # a group has four digits at most
  if (part[1] ~ /:::|::.*::|^:[^:]|[^:]:$/) return 0
  groups = gsub(/[^:]+/, "x", part[1])
  return part[1] ~ /::/ ? groups < 8 : groups == 8
}

# A DSN as SDKs write it (no legacy secret, no port that its scheme has anyway, scheme and host in lower case), or nothing.
function plain_dsn(text,   host) {
  if (tolower(text) !~ /^https?:\/\/[a-z0-9_]+(:[a-z0-9_]*)?@(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]+)?\/([a-z0-9_.~-]+\/)*(0|[1-9][0-9]*)$/) return ""
  if (match(text, /:[0-9]+\//) && (RLENGTH > 7 || substr(text, RSTART + 1, RLENGTH - 2) + 0 > 65535)) return ""
  if (text ~ /\/\.\.?\//) return ""
  if (match(text, /[0-9]+$/) && RLENGTH > 20) return ""

  sub(/:[^\/@]*@/, "@", text)
  sub(tolower(text) ~ /^https/ ? ":443/" : ":80/", "/", text)
  match(text, /@[^\/]*/)
  host = substr(text, RSTART, RLENGTH)
  return tolower(substr(text, 1, 5)) substr(text, 6, RSTART - 6) tolower(host) substr(text, RSTART + RLENGTH)
}

# A DSN, or what was meant for one, as it may be shown.
function without_secret(text,   at, rest) {
  if (text !~ /^[^@]*:\/\/[^:@]*:[^@]*@/) return text
  at = index(text, "://")
  rest = substr(text, at + 3)
  sub(/:[^@]*@/, ":…@", rest)
  return substr(text, 1, at + 2) rest
}

# With DERIVED_PATHS, each DSN adds the path that v11 SDKs derive from it.
function add_derived_paths(   count, each, i) {
  if (values["DERIVED_PATHS"] != "on\n") return
  count = split(values["SENTRY_DSN"], each, "\n")
  for (i = 1; i < count; i++) values["TUNNEL_PATHS"] = values["TUNNEL_PATHS"] derived_path(plain_dsn(each[i])) "\n"
}

# All paths are one value, the alternatives of one location.
function join_paths() {
  gsub(/\n/, "|", values["TUNNEL_PATHS"])
  sub(/[|]$/, "\n", values["TUNNEL_PATHS"])
}

# Of an address, or what is a port alone.
function port_of(address) {
  sub(/.*:/, "", address)
  return address
}

# nginx's own limits: four times the tunnel's, which says what to hold back and is to be heard first. A rate of 0 is none.
function set_client_limits() {
  if (values["ADDRESS_RATE"] + 0 == 0) return
  values["CLIENT_RATE"] = values["ADDRESS_RATE"] * 4 "\n"
  values["CLIENT_BURST"] = values["ADDRESS_BURST"] * 4 "\n"
}

function look_up_again(name) {
  gsub(/\n/, " resolve\n", values[name])
}

# `/` and FNV-1a-32 in base 36. 16777619, its prime, is 2^24 + 403: so nothing grows beyond what a double holds exactly.
function derived_path(text,   hash, i, path) {
  hash = 2166136261
  for (i = 1; i <= length(text); i++) {
    hash = xor_byte(hash, code_of(substr(text, i, 1)))
    hash = (hash % 256 * 16777216 + hash * 403) % 4294967296
  }
  do {
    path = substr("0123456789abcdefghijklmnopqrstuvwxyz", hash % 36 + 1, 1) path
    hash = int(hash / 36)
  } while (hash)
  return "/" path
}

# A bit of the byte turns that bit of the hash over.
function xor_byte(hash, byte,   bit) {
  for (bit = 1; bit < 128; bit *= 2) if (int(byte / bit) % 2) hash += int(hash / bit) % 2 ? -bit : bit
  return hash
}

# ASCII, which is all that a DSN holds.
function code_of(character,   code) {
  if (!ascii) for (code = 1; code < 127; code++) ascii = ascii sprintf("%c", code)
  return index(ascii, character)
}
