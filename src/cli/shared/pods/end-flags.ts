import { type Command, Option } from 'commander';
import { parseDurationFlag, parseWholeFlag } from '../flag-values.js';

/** The flags of commands that end pods. */
export interface EndFlags {
  /** In seconds; the pod's grace period when undefined. */
  readonly time?: number;
  readonly wait: boolean;
  /** In milliseconds; 0 for no limit. */
  readonly timeout: number;
}

/** Adds them. `until`: what is waited for, as in "have ended". */
export function addEndFlags(command: Command, until: string): Command {
  return command
    .addOption(
      new Option(
        '-t, --time <seconds>',
        "Seconds that the pods get to end (default: each pod's grace period)",
      ).argParser(parseWholeFlag),
    )
    .option('--wait', `Wait until all ${until}`, true)
    .option('--no-wait', 'Do not wait')
    .addOption(
      new Option('--timeout <duration>', 'Maximum time to wait')
        .argParser(parseDurationFlag)
        .default(0, 'no limit'),
    );
}

/** The query of {@link EndFlags}; less than a second is for `delete --force`. */
export function endQuery({ time }: EndFlags): { readonly gracePeriodSeconds: number | undefined } {
  return { gracePeriodSeconds: time === undefined ? undefined : Math.max(1, time) };
}
