import { type CriClient } from '#watch';
import { isRecord } from '#base/text/is-record.js';
import { type Logger } from '#base/log/logger.js';

/** What {@link tellRuntimeDifferences} needs. */
export interface RuntimeDifferencesOptions {
  readonly client: Pick<CriClient, 'status'>;
  /** With which a runtime would be started now. */
  readonly flags: readonly string[];
  /** Which it would be then; `unknown` where nobody says. */
  readonly version: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Nobody's start is to wait long for it. */
const ANSWER_MS = 10_000;

/** The flags that are compared, each with where an embedded runtime tells of it, and what it is unless told. */
const COMPARED = {
  '--isolation': { choice: 'isolation', usual: ['auto'] },
  '--network': { choice: 'network', usual: ['auto'] },
  '--image-dir': { choice: 'imageDirs', usual: [] },
} as const;

/**
 * Warns where an embedded runtime that an earlier agent has left is not as it would be started now, with how to end it: it
 * goes on as it is, and nothing else would show that a new flag or a new version has no effect. Never rejects; an
 * older one, which does not tell how it was started, is passed over.
 */
export async function tellRuntimeDifferences(options: RuntimeDifferencesOptions): Promise<void> {
  const { client, logger, signal } = options;
  const told = await client.status({ verbose: true }, { signal, timeoutMs: ANSWER_MS }).then(
    ({ info }) => parseTold(info['config']),
    () => undefined,
  );
  if (told === undefined) return;
  const differences = findRuntimeDifferences(options, told);
  if (differences.length === 0) return;
  logger.warn('Embedded runtime goes on as it was started', {
    differs: differences.join('; '),
    toChange: `kill ${String(told['pid'])}: another one is started at once, and pods go on`,
  });
}

/** In words, one for each: `--network is auto, not host`. Empty for one that does not tell. Pure. */
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
