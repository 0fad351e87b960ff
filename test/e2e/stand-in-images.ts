import { access, constants, readFile } from 'node:fs/promises';
import path from 'node:path';

import { makeCertificate } from '../../src/node/api/tls/make-certificate.js';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { packTar, type TarMember } from '#support/builders/pack-tar.js';
import { librariesOf } from '../critest/base-programs.js';
import { makeBaseRoot } from '../critest/base-root.js';

/** What the images are made of; all paths absolute. */
export interface StandInParts {
  /** A statically linked busybox. */
  readonly busybox: string;
  readonly agnhost: string;
  /** Where bash and curl are looked for; images do without when they are not there, with busybox for a shell. */
  readonly searchPath: string;
  /** Whether `pause` is busybox's shell, which starts with next to no CPU in an emulated machine, too (default: it is agnhost). */
  readonly lightPause?: boolean;
}

/** The layers that an image may have over the common base. */
type Layer = 'agnhost' | 'site' | 'escalation' | 'names';

interface StandIn {
  readonly config: object;
  readonly layers?: readonly Layer[];
  /** What is told of it on the page. */
  readonly what: string;
}

const Env = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
const DAY_MS = 86_400_000;
const SHELL = { Env, Cmd: ['sh'] };

/** What plays the suite's images, by the last part of their names. The suite says which names and tags it wants. */
export const STAND_INS: Readonly<Record<string, StandIn>> = {
  agnhost: {
    config: { Env, Entrypoint: ['/agnhost'], Cmd: ['pause'] },
    layers: ['agnhost'],
    what: 'agnhost of the same release over the image `busybox`, with this machine’s curl and an `nc` in bash',
  },
  busybox: { config: SHELL, what: 'this machine’s busybox, with all its applets and bash for a shell' },
  'glibc-dns-testing': {
    config: SHELL,
    layers: ['names'],
    what: 'the image `busybox`, with this machine’s `hostname`',
  },
  nginx: {
    config: { Env, Cmd: ['httpd', '-f', '-p', '80', '-h', '/srv'] },
    layers: ['site'],
    what: 'busybox’s web server',
  },
  nonewprivs: {
    config: { Env, Cmd: ['/nnp', 'nonewprivs'] },
    layers: ['escalation'],
    what: 'agnhost with the set-user-id bit',
  },
  nonroot: { config: { ...SHELL, User: '1234' }, what: 'busybox, with the user 1234' },
  // It ends when it is told to, as busybox' sleep does not where it is a container's first process.
  pause: {
    config: { Env, Entrypoint: ['/agnhost', 'pause'] },
    layers: ['agnhost'],
    what: 'agnhost, which waits',
  },
};

/** Ends when it is told to. */
const LIGHT_PAUSE: StandIn = {
  config: {
    Env,
    Entrypoint: ['/bin/busybox', 'sh', '-c', "trap 'exit 0' TERM INT; sleep 2147483647 & wait"],
  },
  what: 'busybox’s shell, which waits',
};

/**
 * busybox's own `nc` knows no UDP, which specs of the network ask for: one packet there, what comes back within a second
 * printed.
 */
const NC_SCRIPT = `#!/bin/bash
case " $* " in *' -u '*) ;; *) exec /bin/busybox nc "$@" ;; esac
exec 3<>"/dev/udp/\${@: -2:1}/\${@: -1}" && cat >&3 || exit 1
# Of the end of cat nothing is to be told.
exec 2>/dev/null
timeout 1 cat <&3
exit 0
`;

/** The users that a spec looks for in agnhost's image. */
const USERS: readonly TarMember[] = [
  {
    name: 'etc/passwd',
    mode: 0o644,
    content:
      'root:x:0:0:root:/root:/bin/sh\nuser-defined-in-image:x:1000:1000::/home:/bin/sh\nnobody:x:65534:65534:nobody:/home:/bin/false\n',
  },
  {
    name: 'etc/group',
    mode: 0o644,
    content:
      'root:x:0:\nuser-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\nnogroup:x:65534:\n',
  },
];

/** Makes a stand-in for each of these images that there is one for; others are left out. No registry is asked. */
export async function makeStandInImages(names: readonly string[], parts: StandInParts): Promise<OciLayout> {
  const layout = new OciLayout();
  // busybox's own shell drops variables that it could not set itself, as `data-1`, which specs look for.
  const shell = await findProgram('bash', parts.searchPath);
  const base = packTar(await makeBaseRoot({ busybox: parts.busybox, shell }));
  const agnhost = await readFile(parts.agnhost);
  const layers: Readonly<Record<Layer, Buffer>> = {
    agnhost: packTar([
      { name: 'agnhost', content: agnhost },
      { name: 'agnhost-2', hardLinkTo: 'agnhost' },
      { name: 'uploads/', mode: 0o1777 },
      ...USERS,
      ...(await machinePrograms(['bash', 'curl'], parts.searchPath)),
      { name: 'bin/nc', content: NC_SCRIPT },
      ...(await certificateMembers()),
      ...registryMembers(base),
    ]),
    names: packTar(await machinePrograms(['hostname'], parts.searchPath)),
    site: packTar([{ name: 'srv/index.html', mode: 0o644, content: 'stand-in\n' }]),
    escalation: packTar([{ name: 'nnp', mode: 0o4755, content: agnhost }]),
  };
  const standIns = { ...STAND_INS, ...(parts.lightPause === true ? { pause: LIGHT_PAUSE } : {}) };
  for (const [kind, { config, layers: over = [] }] of Object.entries(standIns)) {
    const named = names.filter((name) => kindOf(name) === kind);
    if (named.length === 0) continue;
    layout.addImage({ names: named, layers: [base, ...over.map((layer) => layers[layer])], config });
  }
  return layout;
}

/** `registry.k8s.io/e2e-test-images/agnhost:2.63.0` is an `agnhost`. */
function kindOf(name: string): string {
  return path.posix.basename(name).replace(/[:@].*$/, '');
}

/** What agnhost's servers show as `localhost`. */
async function certificateMembers(): Promise<TarMember[]> {
  const now = Date.now();
  const { cert, key } = await makeCertificate({
    ...{ commonName: 'localhost', purpose: 'server', hosts: ['localhost', '127.0.0.1'] },
    ...{ validFrom: new Date(now - DAY_MS), validTo: new Date(now + 30 * DAY_MS) },
  });
  return [
    { name: 'localhost.crt', mode: 0o644, content: cert },
    { name: 'localhost.key', mode: 0o644, content: key },
  ];
}

/** What agnhost's own registry serves: `pause:testing`, in the layout that it reads. */
function registryMembers(base: Buffer): TarMember[] {
  const layout = new OciLayout();
  const { manifest } = layout.addImage({ layers: [base], config: SHELL });
  const root = 'var/registry/pause';
  const blobs = [...layout.toFiles()].flatMap(([name, content]): TarMember[] => {
    const hash = /^blobs\/sha256\/(.*)$/.exec(name)?.[1];
    if (hash === undefined) return [];
    const kind = manifest.digest === `sha256:${hash}` ? 'manifests' : 'blobs';
    return [{ name: `${root}/${kind}/sha256/${hash.slice(0, 2)}/${hash}/data`, mode: 0o644, content }];
  });
  return [...blobs, { name: `${root}/manifests/testing`, mode: 0o644, content: `${manifest.digest}\n` }];
}

/** Programs of this machine that are there, with the libraries that they need. */
async function machinePrograms(names: readonly string[], searchPath: string): Promise<TarMember[]> {
  const libraries = new Set<string>();
  const members: TarMember[] = [];
  for (const name of names) {
    const program = await findProgram(name, searchPath);
    if (program === undefined) continue;
    for (const library of program.libraries) libraries.add(library);
    members.push({ name: `bin/${name}`, content: await readFile(program.file) });
  }
  for (const library of libraries) members.push({ name: library.slice(1), content: await readFile(library) });
  return members;
}

async function findProgram(
  name: string,
  searchPath: string,
): Promise<{ file: string; libraries: string[] } | undefined> {
  for (const folder of searchPath.split(':')) {
    const file = path.join(folder, name);
    const found = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return { file, libraries: await librariesOf(file) };
  }
  return undefined;
}
