// The bill of materials: which packages are in what users get, by `npm sbom`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { NODE_SUMS, NODE_VERSION } from './node-binary.mjs';

/**
 * A CycloneDX document of what is installed at run time and of the libraries in the bundled files, as text.
 *
 * @param {string} repository where `npm ci` and the build have run
 * @param {number} epochS its time; the same sources and time give the same text
 */
export function makeBillOfMaterials(repository, epochS) {
  const read = (...flags) =>
    JSON.parse(
      execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', ...flags], {
        cwd: repository,
        encoding: 'utf8',
        maxBuffer: 64 * 1024 * 1024,
      }),
    );
  const licenses = ['dist/program/LICENSES.txt', 'dist/lib/LICENSES.txt'].map((file) =>
    readFileSync(path.join(repository, file), 'utf8'),
  );
  const { name } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'));
  const options = { name, installed: read('--omit', 'dev'), licenses, epochS, besides: describeNode() };
  return `${JSON.stringify(chooseParts(read(), options), null, 2)}\n`;
}

/** Node's binaries, which the single executables are made of. */
function describeNode() {
  return Object.entries(NODE_SUMS).map(([machine, sum]) => ({
    ...{ type: 'application', name: 'node', version: NODE_VERSION },
    'bom-ref': `node@${NODE_VERSION}-linux-${machine}`,
    hashes: [{ alg: 'SHA-256', content: sum }],
    properties: [{ name: 'podloop:delivery', value: `single executable for linux-${machine}` }],
  }));
}

/** What of the document of all packages is in what users get: installed with it, or bundled; and what is there besides. Pure. */
export function chooseParts(all, { name, installed, licenses, epochS, besides = [] }) {
  const bundled = new Set(licenses.flatMap(listBundled));
  const refs = new Set(installed.components.map((component) => component['bom-ref']));
  const components = all.components
    .filter((component) => refs.has(component['bom-ref']) || bundled.has(component['bom-ref']))
    .map((component) => ({
      ...component,
      properties: [
        { name: 'podloop:delivery', value: refs.has(component['bom-ref']) ? 'installed' : 'bundled' },
      ],
      // Where this machine got it from says nothing to others.
      externalReferences: component.externalReferences?.filter(({ type }) => type !== 'distribution'),
    }));
  const missing = [...bundled].filter((ref) => !components.some((each) => each['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`bundled, and not in npm's list: ${missing.join(', ')}`);
  const root = all.metadata.component['bom-ref'];
  const known = new Set([root, ...components.map((component) => component['bom-ref'])]);
  const document = {
    ...all,
    metadata: {
      ...all.metadata,
      timestamp: new Date(epochS * 1_000).toISOString(),
      // npm takes the name of the folder.
      component: { ...all.metadata.component, type: 'application', name },
    },
    components: [...components, ...besides],
    dependencies: all.dependencies
      .filter(({ ref }) => known.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => known.has(each)) })),
  };
  const { serialNumber: _, ...content } = document;
  return { ...document, serialNumber: `urn:uuid:${toUuid(JSON.stringify(content))}` };
}

/** `NAME@VERSION` of each library in a file of licences, which begins each with `NAME VERSION: LICENCE`. */
function listBundled(text) {
  const heads = text.split(/^-{80}$/m).map((part) => part.trimStart());
  // In front of the first one stands what the file is.
  heads[0] = heads[0]?.slice(heads[0].indexOf('\n')).trimStart() ?? '';
  return heads.flatMap((head) => {
    const [, name, version] = /^(\S+) (\d\S*): /.exec(head) ?? [];
    return name === undefined ? [] : [`${name}@${version}`];
  });
}

/** A name for the content: version 8 of RFC 9562, whose bits are free. */
function toUuid(content) {
  const hash = createHash('sha256').update(content).digest('hex');
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `a${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join('-');
}
