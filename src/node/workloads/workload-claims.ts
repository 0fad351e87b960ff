import { type ClaimSpec, type Workload } from '#kube/workloads/workload.js';
import { claimNameOf } from './stateful-set.js';
import { nameOfWorkload, type WorkloadRecord, type WorkloadTree } from './workload-record.js';

/** A claim that a manifest has, or a workload of one. */
export interface DeclaredClaim {
  /** `file`, `http`, `stdin`. */
  readonly source: string;
  readonly namespace: string;
  readonly name: string;
  /** The workload that has it: `StatefulSet default/db`; undefined for one that is in a manifest itself. */
  readonly owner?: string;
}

/** The claims that manifests have themselves, and those that their StatefulSets have now, with their sources. */
export function declaredClaims(
  delivered: readonly { readonly source: string; readonly workloads: readonly Workload[] }[],
  trees: readonly WorkloadTree[],
): DeclaredClaim[] {
  const written = delivered.flatMap(({ source, workloads }) =>
    workloads
      .filter(({ kind }) => kind === 'PersistentVolumeClaim')
      .map(({ metadata: { namespace, name } }) => ({ source, namespace, name })),
  );
  const ofSets = trees.flatMap(({ source, root }) =>
    claimsOf(root).map(({ namespace, name }) => ({
      ...{ source, namespace, name },
      owner: nameOfWorkload(root.object),
    })),
  );
  return [...written, ...ofSets];
}

/** The claims of the pods of a StatefulSet; none of other workloads. */
export function claimsOf({
  object,
  pods,
}: WorkloadRecord): { readonly namespace: string; readonly name: string; readonly spec: ClaimSpec }[] {
  if (object.kind !== 'StatefulSet') return [];
  const { metadata, spec: wanted } = object;
  return pods.flatMap(({ index }) =>
    (wanted.volumeClaimTemplates ?? []).map(({ metadata: claim, spec }) => {
      const name = claimNameOf(claim.name, metadata.name, index!);
      return { namespace: metadata.namespace, name, spec };
    }),
  );
}
