import { type FieldProblemKind } from '#kube/fields/field-problem.js';

/**
 * What is wrong: a {@link FieldProblemKind}, or of the text as such: `syntax` (also a key that stands twice, too much
 * nesting, too large), or `kind` for an object that is no pod.
 */
export type ManifestProblemKind = FieldProblemKind | 'syntax' | 'kind';

/** Where an object begins. */
export interface ManifestPlace {
  /** As it was named by the one who asked; `<stdin>` for standard input. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** One thing that is wrong with a manifest. */
export interface ManifestProblem extends ManifestPlace {
  readonly kind: ManifestProblemKind;
  /** In the object, as Kubernetes writes it: `spec.containers[0].image`; empty for the object or file itself. */
  readonly path: string;
  /** What is wrong and what would be right, without place and path. */
  readonly message: string;
  /** Name of the pod that it is of; empty where that cannot be read. */
  readonly pod: string;
  /** Namespace of that pod; empty where none is written. */
  readonly namespace: string;
}

/** `web.yaml:9:7: spec.containers[0].comand: unknown field, did you mean command?` */
export function formatManifestProblem({ file, line, column, path, message }: ManifestProblem): string {
  return `${file}:${line}:${column}: ${path === '' ? '' : `${path}: `}${message}`;
}
