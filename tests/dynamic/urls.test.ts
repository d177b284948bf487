import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import { systemClock } from "../../src/shared/clock.ts";
import { createSecrets } from "../../src/stores/secrets.ts";
import { checkAddress, checkUrl, embeddedV4, type UrlPolicy } from "../../src/tools/dynamic/url-policy.ts";
import { sendRequest, type HttpRequest } from "../../src/tools/dynamic/strategies/http-request.ts";
import { call, sandbox, startCamel } from "../harness.ts";

const policyWith = (urlAccess: object = {}): UrlPolicy => configSchema.parse({ urlAccess }).urlAccess;
const standard = policyWith();

/** Refused before any name is looked up: by scheme, credentials, spelling of an address, or name. */
const HOSTILE_URLS: readonly string[] = [
  // this machine, by every spelling the parser knows
  ..."127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 127.255.255.254 0 0.0.0.0 0x0".split(
    " ",
  ),
  ..."localhost LOCALHOST localhost. foo.localhost localhost.. %6c%6fcalhost 127.0.0.1. ①②⑦.0.0.1 １２７.0.0.1".split(
    " ",
  ),
  ..."[::1] [0:0:0:0:0:0:0:1] [::] [0::1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [::7f00:1]".split(
    " ",
  ),
  ..."[64:ff9b::7f00:1] [64:ff9b::127.0.0.1] [2002:7f00:1::] [64:ff9b:1::7f00:1] [::ffff:0:7f00:1] [fe80::5efe:7f00:1]".split(
    " ",
  ),
  ..."[2001:0:7f00:1::] [2001:0:0:0:0:0:80ff:fffe]".split(" "),
  // private, link-local, reserved
  ..."10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 192.168.1.254 169.254.1.1 100.64.0.1 100.127.255.255".split(
    " ",
  ),
  ..."0.1.2.3 240.0.0.1 255.255.255.255 224.0.0.1 192.0.0.1 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 192.88.99.1".split(
    " ",
  ),
  ..."0xa.0.0.1 012.0.0.1 167772161 0xc0a80001 3232235521 10.1 192.168.257".split(" "),
  ..."[fc00::1] [fd12:3456::1] [fe80::1] [fec0::1] [ff02::1] [2001:db8::1] [100::1] [::ffff:10.0.0.1] [::ffff:c0a8:1]".split(
    " ",
  ),
  ..."[64:ff9b::a00:1] [2002:a00:1::1] [2002:c0a8:101::] [::10.0.0.1] [::ffff:169.254.169.254] [3fff::1] [5f00::1]".split(
    " ",
  ),
  // where clouds hand out credentials
  ..."169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 [fd00:ec2::254] 2852039166 0xa9fea9fe".split(
    " ",
  ),
  ..."metadata.google.internal metadata METADATA.GOOGLE.INTERNAL metadata.google.internal. instance-data".split(
    " ",
  ),
  ..."169.254.42.42 169.254.0.23 [fd00:42::42] [fe80::a9fe:a9fe] metadata.tencentyun.com metadata.packet.net".split(
    " ",
  ),
  ..."api.metadata.cloud.ibm.com rancher-metadata instance-data.ec2.internal".split(" "),
  // names that hosts files give to this machine
  ..."ip6-localhost ip6-loopback localhost4 localhost6 ⓛⓞⓒⓐⓛⓗⓞⓢⓣ localhost%2e".split(" "),
  // more spellings of addresses
  ..."127。0。0。1 10．0．0．5 0X7F000001 00000177.0.0.1 0x7f.0.0x0.1 %3127.0.0.1 [0:0:0:0:0:ffff:a00:5]".split(
    " ",
  ),
  ..."[2606:4700::5efe:a00:5] [2606:4700::200:5efe:7f00:1] [2001:0:1:2:3:4:f5ff:fffa] [64:ff9b:2::1] [4000::1]".split(
    " ",
  ),
  // names of private networks
  ..."printer.local db.internal nas.lan wiki.corp intranet.home.arpa x.localdomain home.arpa local. router WPAD".split(
    " ",
  ),
  ..."localhost4.localdomain4 localhost6.localdomain6 host.docker.internal kubernetes.default.svc.cluster.local kubernetes.default.svc vault.service.consul db.private x.onion".split(
    " ",
  ),
].map((host) => `http://${host}/latest/meta-data/`);

const HOSTILE_FORMS: readonly string[] = [
  "file:///etc/passwd",
  "ftp://example.com/",
  "gopher://example.com/",
  "data:text/plain,x",
  "javascript:alert(1)",
  "ws://example.com/",
  "http://user@example.com/",
  "http://user:pass@example.com/",
  "http://example.com@127.0.0.1/",
  "http://127.0.0.1\\@example.com/",
  "http:/127.0.0.1/",
  "http:127.0.0.1",
  "http:\\\\127.0.0.1\\",
  "http://127.0.0.1:80/",
  "https://[::1]:443/",
  "http://127.0.0.1#@example.com/",
  "http://127.0.0.1?@example.com/",
  // ports where something else than HTTP listens
  "http://example.com:0/",
  "http://example.com:22/",
  "http://example.com:25/",
  "http://example.com:6379/",
  "http://8.8.8.8:53/",
  "http://example.com:445/",
  "http://example.com:5432/",
  "blob:http://example.com/x",
  "http+unix://%2Fvar%2Frun/x",
  "HtTp://LOCALHOST/",
  " http://127.0.0.1/ ",
  "http://127.0\t.0.1/",
  "ht\ntp://127.0.0.1/",
  "http:////127.0.0.1/",
];

const BENIGN_URLS: readonly string[] = [
  "http://example.com/",
  "https://example.com",
  "https://api.example.com:8443/v1/items?q=1#x",
  "https://EXAMPLE.com./a",
  "http://8.8.8.8/",
  "http://1.1.1.1:8080/",
  "http://11.0.0.1/",
  "http://172.15.255.255/",
  "http://172.32.0.1/",
  "http://192.167.1.1/",
  "http://100.63.255.255/",
  "http://100.128.0.1/",
  "http://169.253.1.1/",
  "http://126.255.255.255/",
  "http://128.0.0.1/",
  "http://223.255.255.255/",
  "http://134744072/",
  "http://[2606:4700:4700::1111]/",
  "http://[2001:4860:4860::8888]/",
  "http://[::ffff:8.8.8.8]/",
  "http://[64:ff9b::808:808]/",
  "https://xn--mnchen-3ya.de/",
  "https://münchen.de/",
  "https://localhost.example.com/",
  "https://127.0.0.1.example.com/",
  "https://internal.example.com/",
  "https://local.dev/",
  "https://metadata.example.com/",
];

function refusal(url: string, policy = standard): string | undefined {
  try {
    checkUrl(new URL(url), policy);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe("URL policy", () => {
  test("the corpus is large enough to mean something", () => {
    expect(HOSTILE_URLS.length + HOSTILE_FORMS.length + BENIGN_URLS.length).toBeGreaterThan(140);
  });
  test.each([...HOSTILE_URLS, ...HOSTILE_FORMS])("refuses %s", (url) => {
    expect(refusal(url)).toBeDefined();
  });
  test.each(BENIGN_URLS)("lets %s through", (url) => {
    expect(refusal(url)).toBeUndefined();
  });

  test("lists, ports and loopback", () => {
    const listed = policyWith({ domainAllowlist: ["example.com", "*.dev.example.org"] });
    expect(refusal("https://example.com/", listed)).toBeUndefined();
    expect(refusal("https://a.dev.example.org/", listed)).toBeUndefined();
    for (const url of [
      "https://www.example.com/",
      "https://dev.example.org/",
      "https://example.com.evil.net/",
      "https://evilexample.com/",
    ])
      expect(refusal(url, listed), url).toContain("domainAllowlist");
    expect(refusal("https://example.com/", policyWith({ enforceDomainAllowlist: true }))).toContain(
      "domainAllowlist",
    );
    const blocked = policyWith({ domainBlocklist: ["evil.net"] });
    for (const url of ["https://evil.net/", "https://a.b.EVIL.net./"])
      expect(refusal(url, blocked), url).toContain("domainBlocklist");
    expect(refusal("https://notevil.net/", blocked)).toBeUndefined();
    const ports = policyWith({ ports: [443] });
    expect(refusal("https://example.com/", ports)).toBeUndefined();
    expect(refusal("http://example.com/", ports)).toContain("port 80");
    expect(refusal("https://example.com:22/", ports)).toContain("port 22");
    const loopback = policyWith({ allowLoopback: true });
    for (const url of ["http://127.0.0.1/", "http://localhost:3000/", "http://[::1]/"])
      expect(refusal(url, loopback), url).toBeUndefined();
    expect(refusal("http://10.0.0.1/", loopback)).toBeDefined();
    const open = policyWith({ blockPrivateIp: false });
    expect(refusal("http://10.0.0.1/", open)).toBeUndefined();
    expect(refusal("http://127.0.0.1/", open)).toBeDefined();
    expect(refusal("http://169.254.169.254/", open)).toContain("credentials");
  });

  test("a list reads a name in any script and spelling, and what restricts widely", () => {
    for (const [list, url] of [
      ["münchen.de", "https://xn--mnchen-3ya.de/"],
      ["MÜNCHEN.de", "https://a.münchen.de/"],
      ["*.münchen.de", "https://a.münchen.de/"],
      ["8.8.8.8", "http://[::ffff:8.8.8.8]/"],
      ["8.8.8.8", "http://134744072/"],
      ["0x08080808", "http://8.8.8.8/"],
      ["[2606:4700:0::1111]", "http://[2606:4700::1111]/"],
      [".evil.net", "https://a.evil.net/"],
      ["https://evil.net/", "https://evil.net/"],
      ["evil.net:443", "https://evil.net/"],
      ["ads*.example.com", "https://ads3.example.com/"],
      ["*evil*", "https://x.evil.y.com/"],
    ] as const)
      expect(refusal(url, policyWith({ domainBlocklist: [list] })), `${list}: ${url}`).toContain(
        "domainBlocklist",
      );
    for (const [list, url, passes] of [
      ["münchen.de", "https://xn--mnchen-3ya.de/", true],
      ["*.münchen.de", "https://a.münchen.de/", true],
      ["2606:4700::1111", "http://[2606:4700::1111]/", true],
      [".example.com", "https://a.example.com/", true],
      ["api-*.example.com", "https://api-1.example.com/", true],
      ["api-*.example.com", "https://api-1.evil.example.com/", false],
      ["example.*", "https://example.evil.com/", false],
      ["*.example.com", "https://example.com/", false],
      ["127.0.0.1", "http://127.0.0.1/", false],
    ] as const)
      expect(refusal(url, policyWith({ domainAllowlist: [list] })) === undefined, `${list}: ${url}`).toBe(
        passes,
      );
    expect(refusal("http://example.com:22/", policyWith({ ports: [22] }))).toBeUndefined();
    for (const url of ["http://169.254.42.42/", "http://[fe80::a9fe:a9fe]/", "http://[fd00:42::42]/"])
      expect(refusal(url, policyWith({ blockPrivateIp: false })), url).toContain("credentials");
  });

  test("an IPv6 form of an IPv4 address is never judged more kindly than the address", () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const judged = (address: string): boolean => {
      try {
        checkAddress(address, standard, address);
        return true;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        const v4 = `${a}.${b}.${c}.${d}`;
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        for (const form of [
          `::ffff:${v4}`,
          `::ffff:${hex}`,
          `64:ff9b::${hex}`,
          `::${hex}`,
          `2002:${hex}::1`,
          `2001:0:${hex}::`,
        ]) {
          if (judged(form)) expect(judged(v4), form).toBe(true);
          if (a !== 0 || b !== 0) expect(embeddedV4(form), form).toContain(v4);
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** A server on loopback that counts what reaches it. */
async function canary(
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    response.end("reached"),
): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { port: (server.address() as AddressInfo).port, seen };
}

const toLoopback = (): Promise<{ address: string; family: number }[]> =>
  Promise.resolve([{ address: "127.0.0.1", family: 4 }]);

function get(
  url: string,
  headers: Record<string, string> = {},
  rest: Partial<HttpRequest> = {},
): HttpRequest {
  return { method: "GET", url: new URL(url), headers, ...rest };
}

const settings = (over: Partial<Parameters<typeof sendRequest>[1]> = {}) => ({
  policy: policyWith({ allowLoopback: true }),
  hosts: ["*"],
  maxBytes: 1_000,
  signal: AbortSignal.timeout(5_000),
  resolve: toLoopback,
  ...over,
});

describe("requests, sent for real to loopback", () => {
  test("no hostile URL reaches the server, whatever its name resolves to", async () => {
    const { port, seen } = await canary();
    for (const url of HOSTILE_URLS) {
      const target = new URL(url);
      target.port = String(port);
      await expect(sendRequest(get(target.href), settings({ policy: standard })), url).rejects.toThrow();
    }
    expect(seen).toEqual([]);
  });

  test("every benign URL does, at the address that was checked", async () => {
    const { port, seen } = await canary();
    for (const url of BENIGN_URLS) {
      const target = new URL(url.replace(/^https/, "http"));
      if (/^[\d.]+$|^\[/.test(target.hostname)) continue;
      target.port = String(port);
      const answer = await sendRequest(get(target.href), settings());
      expect(answer.body.toString(), url).toBe("reached");
    }
    expect(seen.length).toBeGreaterThan(10);
  });

  test("a name with a private address is refused, even among good ones, and asked only once", async () => {
    const { port, seen } = await canary();
    for (const addresses of [
      ["127.0.0.1"],
      ["10.0.0.1"],
      ["8.8.8.8", "127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["fd00::1"],
      ["169.254.169.254"],
    ]) {
      let asked = 0;
      const resolve = () => {
        asked += 1;
        // A name that changes its mind: private at first, then public, or the other way round.
        return Promise.resolve(
          (asked === 1 ? addresses : ["8.8.8.8"]).map((address) => ({
            address,
            family: address.includes(":") ? 6 : 4,
          })),
        );
      };
      await expect(
        sendRequest(get(`http://rebind.example.com:${port}/`), settings({ policy: standard, resolve })),
        addresses.join(),
      ).rejects.toThrow(/may not be reached/);
      expect(asked).toBe(1);
    }
    expect(seen).toEqual([]);
  });

  test("every hop of a redirect is judged", async () => {
    const { port, seen } = await canary((request, response) => {
      const to = new URL(request.url ?? "/", "http://x").searchParams.get("to");
      if (to === null) response.end("arrived");
      else response.writeHead(302, { location: to }).end();
    });
    const at = (to: string): HttpRequest =>
      get(`http://start.example.com:${port}/?to=${encodeURIComponent(to)}`);
    for (const to of [
      "http://10.0.0.1/",
      "http://169.254.169.254/latest/",
      "http://[::ffff:10.0.0.1]/",
      "http://private.example.com/",
      "file:///etc/passwd",
      "ftp://example.com/",
      "http://user:pass@example.com/",
      "//10.0.0.1/",
      "http://evil.net/",
    ]) {
      seen.length = 0;
      const policy = policyWith({ allowLoopback: true, domainBlocklist: ["evil.net"] });
      const resolve = (name: string) =>
        name === "private.example.com" ? Promise.resolve([{ address: "10.0.0.1", family: 4 }]) : toLoopback();
      await expect(sendRequest(at(to), settings({ policy, resolve })), to).rejects.toThrow(
        /may not be reached|credentials in a URL/,
      );
      expect(seen.length, to).toBe(1);
    }
    expect((await sendRequest(at(`http://other.example.com:${port}/`), settings())).body.toString()).toBe(
      "arrived",
    );
    await expect(
      sendRequest(at(`http://other.example.com:${port}/`), settings({ hosts: ["start.example.com"] })),
    ).rejects.toThrow(/wasn't approved/);
    const loop = await canary((_, response) => response.writeHead(302, { location: "/" }).end());
    await expect(sendRequest(get(`http://a.example.com:${loop.port}/`), settings())).rejects.toThrow(
      /redirects more than/,
    );
  });

  test("a header with a secret doesn't cross origins, whatever its name", async () => {
    const { port, seen } = await canary((request, response) => {
      if (request.headers.host?.startsWith("a.") === true)
        response.writeHead(302, { location: `http://b.example.com:${port}/` }).end();
      else response.end(JSON.stringify(request.headers));
    });
    const request = get(`http://a.example.com:${port}/`, { "X-Who": "the secret", "X-Plain": "kept" });
    const answer = await sendRequest({ ...request, secretHeaders: ["X-Who"] }, settings());
    expect(seen).toHaveLength(2);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ "x-plain": "kept" });
    expect(answer.body.toString()).not.toContain("the secret");
  });

  test("no address at all is this machine, even where private addresses may be reached", () => {
    const policy = policyWith({ blockPrivateIp: false });
    for (const address of ["0.0.0.0", "::", "::ffff:0.0.0.0"])
      expect(() => checkAddress(address, policy, "x"), address).toThrow(/this machine/);
  });

  test("a secret in a query isn't shown, however it was encoded", async () => {
    const { port } = await canary((request, response) => response.end(`you asked for ${request.url}`));
    const box = await sandbox({
      "home/config.yaml":
        "urlAccess: { allowLoopback: true, ports: [] }\nrules:\n  - { tool: '*', decision: allow }\n",
    });
    const camel = await startCamel(box);
    const secrets = createSecrets({ home: box.home, env: {}, keychain: false, clock: systemClock });
    await secrets.set("pass", "it's a (secret)!*~");
    const made = await call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "ask_host",
        description: "x",
        strategy: {
          type: "http",
          url: `http://127.0.0.1:${port}/p/secret://pass?a=secret://pass`,
          query: { key: "secret://pass" },
        },
      },
    });
    expect(made.isError, made.text).toBeUndefined();
    const shown = JSON.stringify(await call(camel, "ask_host", {}));
    expect(shown).toContain("[secret pass]");
    expect(shown).not.toMatch(/\(secret|%28secret/);
  });

  test("a redirect may lead to a host that the envelope names, and to no other", async () => {
    const { port } = await canary((request, response) => {
      if (request.url === "/moved")
        response.writeHead(302, { location: `http://localhost:${port}/here` }).end();
      else response.end("here");
    });
    const box = await sandbox({
      "home/config.yaml": "urlAccess: { allowLoopback: true }\nautonomy: { level: full }\n",
    });
    const camel = await startCamel(box);
    for (const [name, envelope] of [
      ["goes_there", { hosts: ["localhost"] }],
      ["stays_here", {}],
    ] as const)
      await call(camel, "tool_create", {
        action: "create",
        definition: {
          name,
          description: "x",
          envelope,
          strategy: { type: "http", url: `http://127.0.0.1:${port}/moved` },
        },
      });
    expect((await call(camel, "goes_there", {})).text).toBe("here");
    expect(await call(camel, "stays_here", {})).toMatchObject({ isError: true, code: "approval_required" });
  });

  test("credentials and bodies don't cross origins", async () => {
    const { port, seen } = await canary((request, response) => {
      if (request.headers.host?.startsWith("a.") === true)
        response
          .writeHead(request.method === "PUT" ? 307 : 302, { location: `http://b.example.com:${port}/` })
          .end();
      else response.end("ok");
    });
    const headers = {
      Authorization: "Bearer x",
      Cookie: "a=b",
      "X-Api-Key": "k",
      "Private-Token": "t",
      "Ocp-Apim-Subscription-Key": "k",
      "X-Plain": "kept",
    };
    await sendRequest(get(`http://a.example.com:${port}/`, headers), settings());
    expect(seen[0]?.headers).toMatchObject({ authorization: "Bearer x", cookie: "a=b", "x-api-key": "k" });
    expect(seen[1]?.headers).toMatchObject({ "x-plain": "kept" });
    for (const name of ["authorization", "cookie", "x-api-key", "private-token", "ocp-apim-subscription-key"])
      expect(seen[1]?.headers).not.toHaveProperty(name);
    await expect(
      sendRequest(get(`http://a.example.com:${port}/`, {}, { method: "PUT", body: "x" }), settings()),
    ).rejects.toThrow(/body sent on/);
  });

  test("long answers are cut and slow ones stopped", async () => {
    const long = await canary((_, response) => response.end("x".repeat(5_000)));
    const answer = await sendRequest(get(`http://a.example.com:${long.port}/`), settings());
    expect(answer).toMatchObject({ truncated: true });
    expect(answer.body.length).toBe(1_000);
    const trickle = await canary((_, response) => void response.writeHead(200).write("x"));
    await expect(
      sendRequest(
        get(`http://a.example.com:${trickle.port}/`),
        settings({ signal: AbortSignal.timeout(50) }),
      ),
    ).rejects.toMatchObject({ code: "timeout" });
    const slow = await canary(() => {});
    await expect(
      sendRequest(get(`http://a.example.com:${slow.port}/`), settings({ signal: AbortSignal.timeout(50) })),
    ).rejects.toThrow();
  });

  test("an answer that is packed all the same is unpacked, and no further than to the cap", async () => {
    const packed = async (coding: string, body: Buffer) => {
      const { port } = await canary((_, response) =>
        response.writeHead(200, { "content-encoding": coding }).end(body),
      );
      return sendRequest(get(`http://a.example.com:${port}/`), settings());
    };
    for (const [coding, pack] of [
      ["gzip", gzipSync],
      ["deflate", deflateSync],
      ["br", brotliCompressSync],
    ] as const)
      expect((await packed(coding, pack("plain"))).body.toString(), coding).toBe("plain");
    const { port } = await canary((_, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(),
    );
    const head = get(`http://a.example.com:${port}/`, {}, { method: "HEAD" });
    expect((await sendRequest(head, settings())).body.length).toBe(0);
    expect((await packed("gzip", Buffer.alloc(0))).body.length).toBe(0);
    const bomb = await packed("gzip", gzipSync(Buffer.alloc(20_000_000)));
    expect(bomb).toMatchObject({ truncated: true });
    expect(bomb.body.length).toBe(1_000);
    await expect(packed("gzip", Buffer.from("not packed"))).rejects.toMatchObject({ code: "unavailable" });
    await expect(packed("gzip", gzipSync("cut").subarray(0, 15))).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  test("a switch to another protocol is no answer", async () => {
    const { port } = await canary((_, response) => {
      response.socket?.end("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
    });
    await expect(sendRequest(get(`http://a.example.com:${port}/`), settings())).rejects.toMatchObject({
      code: "unavailable",
    });
  });
});

describe("http tools", () => {
  test("values are encoded for their place, and the answer's path is picked", async () => {
    const { port, seen } = await canary((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () =>
        response.end(JSON.stringify({ url: request.url, body, headers: request.headers })),
      );
    });
    const box = await sandbox({ "home/config.yaml": "urlAccess: { allowLoopback: true }\n" });
    const camel = await startCamel(box);
    const make = async (name: string, strategy: object, rest: object = {}) => {
      const made = await call(camel, "tool_create", {
        action: "create",
        definition: { name, description: "x", strategy: { type: "http", ...strategy }, ...rest },
      });
      expect(made.isError, made.text).toBeUndefined();
    };
    await make("get_item", {
      url: `http://127.0.0.1:${port}/items/{{id}}/x?q={{q}}`,
      query: { r: "{{q}}" },
      json_path: "url",
    });
    for (const value of ["a b", "a/b", "?x=1", "#f", "a&b=c", "%2e%2e", "é", "a\r\nX: y", "..a"]) {
      const result = await call(camel, "get_item", { id: value, q: value });
      const url = new URL(result.text, "http://x");
      expect(url.pathname.split("/").length, value).toBe(4);
      expect(decodeURIComponent(url.pathname.split("/")[2] ?? "")).toBe(value);
      expect(url.searchParams.get("q")).toBe(value);
      expect(url.searchParams.get("r")).toBe(value);
    }
    for (const value of [".", "..", "\ud800"])
      expect(await call(camel, "get_item", { id: value, q: "" })).toMatchObject({
        isError: true,
        code: "invalid_input",
      });
    await make("post_item", {
      method: "POST",
      url: `http://127.0.0.1:${port}/`,
      headers: { "X-Tag": "t-{{tag}}" },
      body: { text: "{{text}}", more: ["<{{text}}>"] },
      json_path: "body",
    });
    const posted = await call(camel, "post_item", { tag: "1", text: '","admin":true,"x":"' });
    expect(JSON.parse(posted.text)).toEqual({
      text: '","admin":true,"x":"',
      more: ['<","admin":true,"x":">'],
    });
    expect(await call(camel, "post_item", { tag: "1\r\nEvil: 1", text: "" })).toMatchObject({
      isError: true,
      code: "invalid_input",
    });
    expect(seen.every((request) => request.headers["evil"] === undefined)).toBe(true);
    const latin = await canary((_, response) =>
      response
        .writeHead(200, { "content-type": "text/plain; charset=ISO-8859-1" })
        .end(Buffer.from("caf\u00E9", "latin1")),
    );
    await make("get_latin", { url: `http://127.0.0.1:${latin.port}/`, query: { n: 5, all: true } });
    expect((await call(camel, "get_latin", {})).text).toBe("caf\u00E9");
    expect(latin.seen[0]?.url).toBe("/?n=5&all=true");
    await make("send_text", { method: "POST", url: `http://127.0.0.1:${port}/`, json_path: "body" });
    expect((await call(camel, "send_text", { input: "plain" })).text).toBe("plain");
    expect(await call(camel, "send_text", { input: "x" })).toMatchObject({ structured: { status: 200 } });
  });

  test("a host from the input stays inside the approved hosts", async () => {
    const box = await sandbox({ "home/config.yaml": "urlAccess: { allowLoopback: true }\n" });
    const camel = await startCamel(box);
    const definition = {
      name: "ask_host",
      description: "x",
      strategy: { type: "http", url: "http://{{host}}/x" },
      envelope: { hosts: ["*.example.com"] },
    };
    expect((await call(camel, "tool_create", { action: "create", definition })).isError).toBeUndefined();
    for (const host of ["evil.net", "example.com.evil.net", "127.0.0.1"])
      expect(await call(camel, "ask_host", { host }), host).toMatchObject({
        isError: true,
        code: "approval_required",
      });
    for (const host of [
      "a.example.com@evil.net",
      "a.example.com/x",
      "a.example.com:81",
      "a.example.com#",
      "x y",
      "xn--a.example.com",
      "256.1.1.1",
      "1.2.3.4.5",
    ])
      expect(await call(camel, "ask_host", { host }), host).toMatchObject({
        isError: true,
        code: "invalid_input",
      });
  });

  test("private hosts are refused when the tool is made", async () => {
    const camel = await startCamel(await sandbox());
    for (const url of [
      "http://127.0.0.1/",
      "http://169.254.169.254/latest",
      "http://localhost/{{input}}",
      "ftp://example.com/",
      "http://a:b@example.com/",
    ]) {
      const made = await call(camel, "tool_create", {
        action: "create",
        definition: { name: "bad_url", description: "x", strategy: { type: "http", url } },
      });
      expect(made.isError, url).toBe(true);
    }
  });
});
