import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type HttpCredentials } from '#node';
import { messageOf } from '#base/errors/errors.js';

/** How a kubelet is found and asked, and where the root of its machine is. */
export interface KubeletFlags {
  readonly kubeletUrl?: readonly string[];
  readonly healthzUrl: string;
  readonly tokenFile?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify: boolean;
  readonly hostRoot: string;
}

/** The default URLs of a kubelet. */
export const KUBELET_URLS: readonly string[] = ['http://127.0.0.1:10255', 'https://127.0.0.1:10250'];
const HEALTHZ_URL = 'http://127.0.0.1:10248/healthz';

/** Adds the flags of {@link KubeletFlags}. */
export function addKubeletFlags(command: Command): Command {
  return command
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
    .option(
      '--host-root <folder>',
      'Folder where the root of the machine is mounted, when podloop runs in a container',
      '/',
    );
}

/** Files with which somebody shows over TLS who he is, and whom he trusts. */
export type CredentialFlags = Pick<
  KubeletFlags,
  'tokenFile' | 'clientCertificate' | 'clientKey' | 'certificateAuthority'
> & { readonly insecureSkipTlsVerify?: boolean };

/** Reads the files with which a kubelet is asked. Throws, naming the flag. */
export async function readCredentials(flags: CredentialFlags): Promise<HttpCredentials> {
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
    insecure: flags.insecureSkipTlsVerify === true,
  };
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
