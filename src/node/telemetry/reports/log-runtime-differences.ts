import { type CriClient } from '#watch';
import { PodloopError } from '#base/errors/errors.js';
import { isRecord } from '#base/text/is-record.js';
import { type Logger } from '#base/log/logger.js';

/** What {@link logRuntimeDifferences} needs. */
export interface RuntimeDifferencesOptions {
  readonly client: Pick<CriClient, 'status'>;
  /** The flags that a runtime would start with now. */
  readonly flags: readonly string[];
  /** The version that it would have; `unknown` where nobody says. */
  readonly version: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** A start must not wait long for this. */
const ANSWER_MS = 10_000;

/** The compared flags, each with its field in the status of an embedded runtime, and its default. */
const COMPARED = {
  '--isolation': { choice: 'isolation', usual: ['auto'] },
  '--network': { choice: 'network', usual: ['auto'] },
  '--image-dir': { choice: 'imageDirs', usual: [] },
  '--image-verifier-bin-dir': { choice: 'imageVerifierDirs', usual: [] },
} as const;

/** The flag that no runtime may pass over. */
const VERIFIERS = '--image-verifier-bin-dir';

/**
 * Rejects with OPTION_INVALID if an embedded runtime of an earlier agent would pull images without the verifiers that the flags name,
 * or does not say which it has.
 */
export async function assertVerifiers({
  client,
  flags,
  signal,
}: Pick<RuntimeDifferencesOptions, 'client' | 'flags' | 'signal'>): Promise<void> {
  const wanted = flags.filter((_, index) => flags[index - 1] === VERIFIERS);
  if (wanted.length === 0) return;
  const { info } = await client.status({ verbose: true }, { signal, timeoutMs: ANSWER_MS });
  const told = parseTold(info['config']) ?? {};
  const { startedWith } = told;
  const has = isRecord(startedWith) ? startedWith[COMPARED[VERIFIERS].choice] : undefined;
  if (Array.isArray(has) && describe(has) === describe(wanted)) return;
  const words = Array.isArray(has) ? describe(has) : 'unknown';
  throw new PodloopError(
    'OPTION_INVALID',
    `${VERIFIERS} is ${words} for the embedded runtime that runs, not ${describe(wanted)}: end it with "kill ${String(told['pid'])}", and another one is started at once; pods go on`,
  );
}

/**
 * Warns if an embedded runtime of an earlier agent differs from one that would start now, with how to end it.
 *
 * It runs on as it is, and nothing else would show that a new flag or a new version has no effect. Never
 * rejects; an older runtime, which does not report how it was started, is skipped.
 */
export async function logRuntimeDifferences(options: RuntimeDifferencesOptions): Promise<void> {
  const { client, logger, signal } = options;
  const told = await client.status({ verbose: true }, { signal, timeoutMs: ANSWER_MS }).then(
    ({ info }) => parseTold(info['config']),
    () => undefined,
  );
  if (told === undefined) return;
  const differences = findRuntimeDifferences(options, told);
  if (differences.length === 0) return;
  logger.warn('Embedded runtime keeps the options that it was started with', {
    differs: differences.join('; '),
    toChange: `kill ${String(told['pid'])}: another one is started at once, and pods go on`,
  });
}

/**
 * One sentence per difference: `--network is auto, not host`. Empty for a runtime that does not report it.
 * Pure.
 */
export function findRuntimeDifferences(
  { flags, version }: Pick<RuntimeDifferencesOptions, 'flags' | 'version'>,
  told: Readonly<Record<string, unknown>>,
): string[] {
  const { startedWith: choices } = told;
  if (!isRecord(choices)) return [];
  const is = 'version' in told ? String(told['version']) : version;
  return [
    ...(version === 'unknown' || is === version ? [] : [`podloop is ${is}, not ${version}`]),
    ...Object.entries(COMPARED).flatMap(([flag, { choice, usual }]) => {
      const value = choices[choice];
      if (value === undefined) return [];
      const has = describe([value].flat());
      const given = flags.filter((_, index) => flags[index - 1] === flag);
      const wanted = describe(given.length === 0 ? usual : given);
      return has === wanted ? [] : [`${flag} is ${has}, not ${wanted}`];
    }),
  ];
}

function describe(values: readonly unknown[]): string {
  return values.length === 0 ? 'none' : values.map(String).join(' ');
}

function parseTold(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
  try {
    const told: unknown = JSON.parse(text ?? '');
    return isRecord(told) ? told : undefined;
  } catch {
    return undefined;
  }
}
