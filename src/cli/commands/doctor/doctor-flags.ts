import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type EventReading, type HttpCredentials } from '#node';
import { messageOf } from '#base/errors/errors.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { parseDurationFlag } from '../../shared/flag-values.js';
import { kubeletsEndpointOption, RUNTIME_ENDPOINT_HELP } from '../../shared/runtime-endpoint.js';

/** How a diagnosis is printed. */
const DOCTOR_FORMATS = ['text', 'wide', 'json', 'yaml'] as const;

/** The flags of `podloop doctor`. */
export interface DoctorFlags {
  readonly runtimeEndpoint?: string;
  readonly containerRuntimeEndpoint?: string;
  readonly timeout: number;
  readonly for: number;
  readonly events: EventReading;
  readonly output: (typeof DOCTOR_FORMATS)[number];
  readonly watch?: number | true;
  readonly socket?: string;
  readonly namespace?: string;
  readonly kubeletUrl?: readonly string[];
  readonly healthzUrl: string;
  readonly tokenFile?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify: boolean;
  readonly certDir?: readonly string[];
  readonly hostRoot: string;
  /** The contrary of `--no-disk-write`. */
  readonly diskWrite: boolean;
}

/** The default URLs of a kubelet. */
export const KUBELET_URLS: readonly string[] = ['http://127.0.0.1:10255', 'https://127.0.0.1:10250'];
const HEALTHZ_URL = 'http://127.0.0.1:10248/healthz';
const TIMEOUT_MS = 10_000;
const WATCH_MS = 3_000;
/** Between two looks of `--watch`. */
export const WATCH_INTERVAL_MS = 30_000;
const SHORTEST_MS = 10;

/** Adds the flags of {@link DoctorFlags}. */
export function addDoctorFlags(command: Command): Command {
  return command
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
    )
    .addOption(
      new Option(
        '--kubelet-url <url>',
        'Where a kubelet serves /metrics; may be given several times, empty for nowhere (default: http://127.0.0.1:10255 and https://127.0.0.1:10250)',
      ).argParser(addUrl),
    )
    .addOption(
      new Option('--healthz-url <url>', 'Health check of the kubelet; empty for none')
        .argParser(parseUrl)
        .default(HEALTHZ_URL),
    )
    .option('--token-file <file>', 'Bearer token for a kubelet over TLS')
    .option('--client-certificate <file>', 'Client certificate for a kubelet over TLS, in PEM')
    .option('--client-key <file>', 'Its key')
    .option('--certificate-authority <file>', 'PEM file with the certificate authorities of the kubelet')
    .option('--insecure-skip-tls-verify', 'Do not verify the certificate of the kubelet', false)
    .addOption(
      new Option(
        '--cert-dir <folder>',
        'Folder of certificates and kubeconfigs that must not expire; may be given several times',
      ).argParser(addText),
    )
    .option(
      '--host-root <folder>',
      'Folder where the root of the machine is mounted, when podloop runs in a container',
      '/',
    )
    .option('--no-disk-write', 'Do not measure the disk, which takes a write');
}

/** Reads the files with which a kubelet is asked. Throws, naming the flag. */
export async function readCredentials(flags: DoctorFlags): Promise<HttpCredentials> {
  const read = async (flag: string, file: string | undefined): Promise<string | undefined> => {
    if (file === undefined) return undefined;
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      throw new Error(`${flag} ${file} cannot be read: ${messageOf(error)}`, { cause: error });
    }
  };
  const token = await read('--token-file', flags.tokenFile);
  const certificate = await read('--client-certificate', flags.clientCertificate);
  const key = await read('--client-key', flags.clientKey);
  const authority = await read('--certificate-authority', flags.certificateAuthority);
  return {
    ...(token === undefined ? {} : { token: token.trim() }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(key === undefined ? {} : { key }),
    ...(authority === undefined ? {} : { authority }),
    insecure: flags.insecureSkipTlsVerify,
  };
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

function parseUrl(text: string): string {
  if (text === '') return '';
  const url = /^https?:\/\/[^/]/.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw new InvalidArgumentError('use http://HOST:PORT or https://HOST:PORT');
  if (url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('leave name and password out, as addresses are printed; use --token-file');
  return text;
}

function addUrl(text: string, before: readonly string[] = []): readonly string[] {
  const url = parseUrl(text);
  return url === '' ? before : [...before, url];
}

function addText(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}
