import { type HostFiles } from '../facts/host-files.js';
import { type NamedShim } from '../facts/machine-facts.js';
import { findBundle } from './ask-shim.js';
import { type ContainerOwner } from './host-facts.js';

/** Annotations that the CRI plugin of containerd, and CRI-O, write into the configuration of a container. */
const NAMES = {
  uid: ['io.kubernetes.cri.sandbox-uid', 'io.kubernetes.pod.uid'],
  namespace: ['io.kubernetes.cri.sandbox-namespace', 'io.kubernetes.pod.namespace'],
  name: ['io.kubernetes.cri.sandbox-name', 'io.kubernetes.pod.name'],
  container: ['io.kubernetes.cri.container-name', 'io.kubernetes.container.name'],
} as const;

/**
 * Whom an OCI bundle is for, by the annotations in its config.json. A runtime lists a sandbox only once it runs; the
 * bundle is there from the start.
 */
export async function readBundle(files: HostFiles, folder: string): Promise<ContainerOwner> {
  const text = await files.find(`${folder}/config.json`);
  return text === undefined ? {} : parseBundle(text);
}

/** The shims with their pods, by the bundles that they were started in. */
export async function nameByBundles<T extends Pick<NamedShim, 'pid' | 'pod'>>(
  files: HostFiles,
  shims: readonly T[],
): Promise<T[]> {
  return await Promise.all(
    shims.map(async (shim) => {
      const bundle = await findBundle(files, shim.pid);
      const { pod } = bundle === undefined ? {} : await readBundle(files, bundle);
      return pod === undefined ? shim : { ...shim, pod };
    }),
  );
}

/** Whether a shim’s bundle was made by somebody else than CRI: `ctr` and `nerdctl` may work in its namespace, too. */
export async function isOfNoPod(files: HostFiles, { pid }: Pick<NamedShim, 'pid'>): Promise<boolean> {
  const bundle = await findBundle(files, pid);
  const text = bundle === undefined ? undefined : await files.find(`${bundle}/config.json`);
  return text !== undefined && parseSandboxId(text) === undefined && parseBundle(text).pod === undefined;
}

/** Reads the annotations of an OCI configuration; empty when it is none, or of somebody else. */
export function parseBundle(text: string): ContainerOwner {
  const annotations = parseAnnotations(text);
  const valueOf = (names: readonly string[]): string | undefined => {
    const values = names.map((name) => annotations[name]);
    return values.find((value): value is string => typeof value === 'string' && value !== '');
  };
  const [namespace, name] = [valueOf(NAMES.namespace), valueOf(NAMES.name)];
  if (namespace === undefined || name === undefined) return {};
  const container = valueOf(NAMES.container);
  return {
    pod: { uid: valueOf(NAMES.uid) ?? '', namespace, name },
    // CRI-O's own name for the container that holds a sandbox.
    ...(container === undefined || container === 'POD' ? {} : { container }),
  };
}

/** The sandbox that an OCI configuration's container is in; its own id for that of a sandbox. */
export function parseSandboxId(text: string): string | undefined {
  const id = parseAnnotations(text)['io.kubernetes.cri.sandbox-id'];
  return typeof id === 'string' ? id : undefined;
}

function parseAnnotations(text: string): Readonly<Record<string, unknown>> {
  try {
    const { annotations } = JSON.parse(text) as { annotations?: unknown };
    return typeof annotations === 'object' && annotations !== null ? { ...annotations } : {};
  } catch {
    return {};
  }
}
