import { type CallOptions, type cri, type CriClient, LABELS } from '#watch';

import { type ContainerConfig, type SandboxConfig } from './runtime-changes.js';

/**
 * The newest sandbox in the runtime that is the attempt in `config`: of that pod, with podloop's mark.
 *
 * Rejects as the list does: without a list, nothing is known.
 */
export async function findSameSandbox(
  client: Pick<CriClient, 'listPodSandbox'>,
  config: SandboxConfig,
  options: CallOptions,
): Promise<cri.PodSandbox | undefined> {
  const labelSelector = marksOf(config.labels, [LABELS.podUid, LABELS.nodeInstance]);
  if (labelSelector === undefined) return undefined;
  const { items } = await client.listPodSandbox({ filter: { labelSelector } }, options);
  return newestOf(items.filter(({ metadata }) => metadata?.attempt === config.metadata?.attempt));
}

/** The newest container in that sandbox that is the attempt in `config`, with podloop's mark. */
export async function findSameContainer(
  client: Pick<CriClient, 'listContainers'>,
  sandboxId: string,
  config: ContainerConfig,
  options: CallOptions,
): Promise<cri.Container | undefined> {
  const labelSelector = marksOf(config.labels, [LABELS.podUid, LABELS.containerName, LABELS.nodeInstance]);
  if (labelSelector === undefined) return undefined;
  const { containers } = await client.listContainers({ filter: { labelSelector } }, options);
  return newestOf(
    containers.filter(
      ({ metadata, podSandboxId }) =>
        metadata?.attempt === config.metadata?.attempt && podSandboxId === sandboxId,
    ),
  );
}

/** A selector for these labels; undefined when one is missing, as it would select what is not owned. */
function marksOf(
  labels: Readonly<Record<string, string>>,
  names: readonly string[],
): Record<string, string> | undefined {
  const marks = names.map((name) => [name, labels[name] ?? ''] as const);
  return marks.some(([, value]) => value === '') ? undefined : Object.fromEntries(marks);
}

function newestOf<T extends { readonly createdAt: bigint }>(items: readonly T[]): T | undefined {
  return items.reduce<T | undefined>(
    (newest, item) => (newest === undefined || item.createdAt > newest.createdAt ? item : newest),
    undefined,
  );
}
