import { type Command, InvalidArgumentError, Option } from 'commander';
import { type EventReading } from '#node';
import { formatGoDuration } from '#base/time/go-duration.js';
import { parseDurationFlag } from '../../shared/flag-values.js';
import { addKubeletFlags, type KubeletFlags } from '../../shared/kubelet-flags.js';
import { kubeletsEndpointOption, RUNTIME_ENDPOINT_HELP } from '../../shared/runtime-endpoint.js';

/** How a diagnosis is printed. */
const DOCTOR_FORMATS = ['text', 'wide', 'json', 'yaml'] as const;

/** The flags of `podloop doctor`. */
export interface DoctorFlags extends KubeletFlags {
  readonly runtimeEndpoint?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly timeout: number;
  readonly for: number;
  readonly events: EventReading;
  readonly output: (typeof DOCTOR_FORMATS)[number];
  readonly watch?: number | true;
  readonly socket?: string;
  readonly namespace?: string;
  readonly certDir?: readonly string[];
  /** The contrary of `--no-disk-write`. */
  readonly diskWrite: boolean;
}

const TIMEOUT_MS = 10_000;
const WATCH_MS = 3_000;
/** Between two examinations of `--watch`. */
export const WATCH_INTERVAL_MS = 30_000;
const SHORTEST_MS = 10;

/** Adds the flags of {@link DoctorFlags}. */
export function addDoctorFlags(command: Command): Command {
  command
    .option('-r, --runtime-endpoint <endpoint>', RUNTIME_ENDPOINT_HELP)
    .addOption(kubeletsEndpointOption())
    .addOption(
      durationOption('-t, --timeout <duration>', 'Duration after which a call counts as hung', TIMEOUT_MS),
    )
    .addOption(durationOption('--for <duration>', 'How long to watch the runtime', WATCH_MS))
    .addOption(
      new Option(
        '--events <when>',
        'Read the runtime’s events: auto where that takes them from nobody for sure, always also where nobody knows, never',
      )
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .addOption(
      new Option(
        '-o, --output <format>',
        'text; wide: with what was measured; json or yaml: all of it, for a ticket',
      )
        .choices(DOCTOR_FORMATS)
        .default('text'),
    )
    .addOption(
      new Option(
        '-w, --watch [interval]',
        'Repeat the examination at this interval (default interval: 30s)',
      ).argParser(parseInterval),
    )
    .option('-n, --namespace <namespace>', 'Namespace of the pod (default: any, if the name is in one only)')
    .option(
      '--socket <path>',
      'Socket of podloop’s own agent (default: PODLOOP_SOCKET, else the one in the default --root-dir)',
    );
  return addKubeletFlags(command)
    .addOption(
      new Option(
        '--cert-dir <folder>',
        'Folder of certificates and kubeconfigs that must not expire; may be given several times',
      ).argParser(addText),
    )
    .option('--no-disk-write', 'Do not measure the disk, which takes a write');
}

function durationOption(flags: string, description: string, defaultMs: number): Option {
  return new Option(flags, description).argParser(parseLimit).default(defaultMs, formatGoDuration(defaultMs));
}

function parseLimit(text: string): number {
  const ms = parseDurationFlag(text);
  if (ms < SHORTEST_MS) throw new InvalidArgumentError(`use ${SHORTEST_MS}ms or more`);
  return ms;
}

function parseInterval(text: string): number {
  return parseLimit(text.replace(/^=/, ''));
}

function addText(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
