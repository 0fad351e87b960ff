/**
 * How a command or an attach ended, as the error stream of the remote command protocols says it: from version 4 on
 * as a metav1.Status in JSON, before as text, and only when it failed.
 *
 * Source: the exit code is the cause `ExitCode` of a failure with the reason `NonZeroExitCode`; clients read it
 * from there and nowhere else.
 *
 * @module
 */

/** How it ended. */
export type CommandOutcome =
  | { readonly kind: 'exited'; readonly code: number }
  /** It could not be run, or not to its end. */
  | { readonly kind: 'failed'; readonly message: string };

/** The bytes of the error stream; empty when there is nothing to say in that form. */
export function renderOutcome(outcome: CommandOutcome, form: 'status' | 'text'): Buffer {
  const status = toStatus(outcome);
  if (form === 'status') return Buffer.from(JSON.stringify(status));
  return Buffer.from(status.message ?? '');
}

interface Status {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes: readonly { readonly reason: string; readonly message: string }[] };
  readonly code?: number;
}

function toStatus(outcome: CommandOutcome): Status {
  if (outcome.kind === 'failed') {
    const message = `Internal error occurred: ${outcome.message}`;
    return { metadata: {}, status: 'Failure', message, reason: 'InternalError', code: 500 };
  }
  if (outcome.code === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: ${outcome.code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(outcome.code) }] },
  };
}
