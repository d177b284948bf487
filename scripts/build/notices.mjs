import { readFileSync } from "node:fs";
import { join } from "node:path";

const RULE = "-".repeat(80);

export function renderNotices(packages) {
  const intro =
    "camel-mcp is distributed as a bundle. These packages are in it, wholly or in part, under their own licences.\n";
  const parts = packages.map((one) => {
    const carried = one.via === undefined ? "" : `Carried inside: ${one.via}\n`;
    const author = one.author === undefined ? "" : `Author: ${one.author}\n`;
    const text = one.text ?? `The package contains no licence text; its manifest says: ${one.license}.`;
    return `${RULE}\n${one.name} ${one.version}\nLicence: ${one.license}\n${author}${carried}\n${text}\n`;
  });
  return [intro, ...parts].join("\n");
}

/** CycloneDX 1.6. Without serial number and timestamp, both optional: the same sources give the same bytes. */
export function renderSbom(root, manifest, packages) {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const self = purl(manifest.name, manifest.version);
  const components = packages.map((one) => ({
    type: "library",
    "bom-ref": purl(one.name, one.version),
    name: one.name,
    version: one.version,
    purl: purl(one.name, one.version),
    scope: "required",
    licenses: [licence(one.license)],
    ...hashes(lock, one),
    ...(one.via === undefined ? {} : { properties: [{ name: "camel-mcp:carriedInside", value: one.via }] }),
  }));
  const sbom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": self,
        name: manifest.name,
        version: manifest.version,
        purl: self,
        licenses: [licence(manifest.license)],
      },
    },
    components,
    dependencies: [{ ref: self, dependsOn: components.map((one) => one["bom-ref"]) }],
  };
  return `${JSON.stringify(sbom, null, 2)}\n`;
}

function purl(name, version) {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function licence(text) {
  return /^[\w.+-]+$/.test(text) ? { license: { id: text } } : { expression: text };
}

/** From the lock's integrity, for packages bundled from node_modules; a carried one's own version isn't known. */
function hashes(lock, one) {
  if (one.via !== undefined) return {};
  const entry = Object.entries(lock).find(
    ([path, value]) => path.endsWith(`node_modules/${one.name}`) && value.version === one.version,
  );
  const integrity = entry?.[1].integrity;
  if (!integrity?.startsWith("sha512-")) return {};
  return { hashes: [{ alg: "SHA-512", content: Buffer.from(integrity.slice(7), "base64").toString("hex") }] };
}
