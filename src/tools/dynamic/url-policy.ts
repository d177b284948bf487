import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";
import type { Config } from "../../config/schema.ts";
import { CamelError } from "../../shared/errors.ts";

/**
 * Which URLs a tool may reach. Judged on the parsed URL and on the addresses its host has, never on text: a host
 * can be written in many ways (`0x7f.1`, `[::ffff:10.0.0.1]`, `127.0.0.1.`), and the parser knows them all.
 */
export type UrlPolicy = Config["urlAccess"];

/** Loopback, by every range that means this machine; a connection to "no address" goes there too. */
const LOOPBACK = blockList(["127.0.0.0/8", "0.0.0.0/32"], ["::1/128", "::/128"]);

/** Not on the public Internet, or not meant to be reached by a request. */
const PRIVATE = blockList(
  [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ],
  ["2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20"],
);

/** Where clouds hand out credentials to whoever asks; refused whatever the config says. */
const METADATA = blockList(
  [
    "169.254.169.254/32",
    "169.254.169.250/32",
    "169.254.170.2/32",
    "169.254.170.23/32",
    "169.254.42.42/32",
    "169.254.0.23/32",
    "100.100.100.200/32",
    "168.63.129.16/32",
    "192.0.0.192/32",
  ],
  [
    "fd00:ec2::254/128",
    "fd00:ec2::23/128",
    "fd20:ce::254/128",
    "fd00:42::42/128",
    "fd00:a9fe:a9fe::254/128",
    "fe80::a9fe:a9fe/128",
  ],
);
const METADATA_NAMES =
  /^(?:metadata|instance-data|rancher-metadata)$|^(?:metadata|instance-data)\.(?:google\.internal|goog|ec2\.internal|azure\.internal|azure\.com|tencentyun\.com|packet\.net|platformequinix\.com|nova|openstack|oraclecloud\.com|aliyun\.com|upcloud\.com)$|^api\.metadata\.cloud\.ibm\.com$/;

/** Names that hosts files give to this machine. */
const LOOPBACK_NAMES =
  /^(?:localhost[46]?(?:\.localdomain[46]?)?|ip6-(?:localhost|loopback)|loopback)$|\.localhost$/;

/** A name without a dot is completed by the network one is in; on the Internet there are none. */
const PRIVATE_NAMES =
  /^[^.]+$|(?:^|\.)(?:local|internal|lan|home|corp|intranet|localdomain|home\.arpa|svc|consul|private|onion|alt|invalid)$/;

/** Ports of other protocols, some of which read an HTTP request as commands of their own; browsers refuse most of them. */
const NOT_HTTP: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 88, 95, 101, 102, 103,
  104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513,
  514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 993, 995, 1433, 1521,
  1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5900, 6000, 6379, 6566, 6665, 6666,
  6667, 6668, 6669, 6679, 6697, 10080, 11211, 27017,
]);

/** The only part of IPv6 that is routed on the Internet. */
const GLOBAL_V6 = blockList([], ["2000::/3"]);

function blockList(v4: readonly string[], v6: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of v4) add(list, range, "ipv4");
  for (const range of v6) add(list, range, "ipv6");
  return list;
}

function add(list: BlockList, range: string, family: "ipv4" | "ipv6"): void {
  const [network = "", bits = "0"] = range.split("/");
  list.addSubnet(network, Number(bits), family);
}

/** What can be said before any name is looked up. Throws where the URL is refused. */
export function checkUrl(url: URL, policy: UrlPolicy): void {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw refused(url.protocol, "only http and https are allowed");
  if (url.username !== "" || url.password !== "")
    throw refused(url.host, "credentials in a URL aren't allowed");
  const host = hostOf(url);
  if (host === "") throw refused(url.href, "it has no host");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  if (policy.ports.length > 0 && !policy.ports.includes(port))
    throw refused(`${host}:${port}`, `port ${port} isn't in urlAccess.ports`);
  if (policy.ports.length === 0 && NOT_HTTP.has(port))
    throw refused(`${host}:${port}`, `port ${port} isn't one for HTTP (urlAccess.ports can name it)`);
  const blocked = policy.domainBlocklist.find((pattern) =>
    [host, ...embeddedV4(host)].some((one) => coversHost(pattern, one, true)),
  );
  if (blocked !== undefined) throw refused(host, `urlAccess.domainBlocklist has "${blocked}"`);
  if (
    (policy.enforceDomainAllowlist || policy.domainAllowlist.length > 0) &&
    !policy.domainAllowlist.some((pattern) => coversHost(pattern, host, false))
  )
    throw refused(host, "it isn't in urlAccess.domainAllowlist");
  if (METADATA_NAMES.test(host)) throw refused(host, "it hands out the machine's credentials");
  if (isIP(host) !== 0) checkAddress(host, policy, host);
  else if (LOOPBACK_NAMES.test(host)) {
    if (!policy.allowLoopback) throw refused(host, "it is this machine (urlAccess.allowLoopback is off)");
  } else if (policy.blockPrivateIp && PRIVATE_NAMES.test(host))
    throw refused(host, "it is a name of a private network");
}

/** The host as compared with lists: small letters, no brackets, no dot at the end. */
export function hostOf(url: URL): string {
  return url.hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.+$/, "");
}

/**
 * `example.com` is that name (and, where `below`, those under it); `*.example.com` the names under it; elsewhere `*`
 * stands for a part of one label, and where `below` for anything: what restricts is read widely.
 */
export function coversHost(pattern: string, host: string, below: boolean): boolean {
  if (pattern === "*") return true;
  const wanted = comparableHost(pattern);
  if (wanted.startsWith("*.") && !wanted.includes("*", 1))
    return host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1;
  if (wanted.includes("*")) {
    const source = wanted
      .split("*")
      .map(escapeForRegExp)
      .join(below ? ".*" : "[^.]*");
    return new RegExp(`^${source}$`).test(host);
  }
  return host === wanted || (below && host.endsWith(`.${wanted}`));
}

function escapeForRegExp(text: string): string {
  return text.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&");
}

/** A pattern as hosts are compared: what a URL has around its host is taken off, and other scripts are encoded. */
function comparableHost(pattern: string): string {
  const bare = pattern
    .trim()
    .replace(/^[a-z]+:\/\//i, "")
    .replace(/[/?#].*$/, "")
    .replace(/^\.(?=[^.])/, "*.");
  const address = bare.replace(/^\[|\](?::\d+)?$/g, "");
  if (isIPv6(address)) return hostOf(new URL(`http://[${address}]`));
  const name = bare.replace(/:\d+$/, "").replace(/\.+$/, "").toLowerCase();
  const prefix = name.startsWith("*.") ? "*." : "";
  const rest = name.slice(prefix.length);
  if (rest.includes("*")) return name;
  return prefix + (URL.canParse(`http://${rest}`) ? hostOf(new URL(`http://${rest}`)) : rest);
}

/** Whether an address may be connected to; `name` is how the URL called it. */
export function checkAddress(address: string, policy: UrlPolicy, name: string): void {
  const plain = address.replace(/%.*$/, "");
  for (const one of [plain, ...embeddedV4(plain)]) {
    const family = isIPv4(one) ? "ipv4" : "ipv6";
    if (METADATA.check(one, family)) throw refused(name, `${address} hands out the machine's credentials`);
    if (LOOPBACK.check(one, family)) {
      if (!policy.allowLoopback)
        throw refused(name, `${address} is this machine (urlAccess.allowLoopback is off)`);
      continue;
    }
    if (!policy.blockPrivateIp) continue;
    // An address that only carries an IPv4 one is judged by that; else it has to be a global one.
    const carries = one === plain && family === "ipv6" && embeddedV4(plain).length > 0 && isMapped(plain);
    if (PRIVATE.check(one, family) || (family === "ipv6" && !carries && !GLOBAL_V6.check(one, "ipv6")))
      throw refused(name, `${address} is a private or reserved address`);
  }
}

const MAPPED = blockList([], ["::ffff:0:0/96", "64:ff9b::/96"]);

/** IPv4 in another form (mapped, or through a NAT64 gateway): may be reached if the IPv4 address may. */
function isMapped(address: string): boolean {
  return MAPPED.check(address, "ipv6");
}

/** The IPv4 addresses inside an IPv6 one: mapped, compatible, NAT64, 6to4, Teredo and ISATAP. */
export function embeddedV4(address: string): string[] {
  if (!isIPv6(address)) return [];
  const words = expand(address);
  const v4 = (high = 0, low = 0): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = words;
  const found: string[] = [];
  const isLoopbackOrNone = [a, b, c, d, e, f, g].every((word) => word === 0) && h <= 1;
  if ([a, b, c, d, e].every((word) => word === 0) && (f === 0 || f === 0xff_ff) && !isLoopbackOrNone)
    found.push(v4(g, h));
  if ([a, b, c, d].every((word) => word === 0) && e === 0xff_ff && f === 0) found.push(v4(g, h));
  if (a === 0x64 && b === 0xff_9b) found.push(v4(g, h));
  if (a === 0x20_02) found.push(v4(b, c));
  if (a === 0x20_01 && b === 0) found.push(v4(c, d), v4(~g & 0xff_ff, ~h & 0xff_ff));
  if ((e === 0 || e === 0x02_00) && f === 0x5e_fe) found.push(v4(g, h));
  return found;
}

function expand(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const text =
    dotted === null
      ? address
      : `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`;
  const [head = "", tail] = text.split("::");
  const words = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((word) => Number.parseInt(word, 16));
  if (tail === undefined) return words(head);
  const before = words(head);
  const after = words(tail);
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}

function refused(what: string, why: string): CamelError {
  return new CamelError("denied_by_policy", `"${what.slice(0, 200)}" may not be reached: ${why}.`, {
    next: "Don't try to get round it. Use another source, or tell the user.",
  });
}
