import { InvalidArgumentError, Option } from 'commander';
import { untilAborted } from '#base/async/until-aborted.js';
import { hasCode } from '#base/errors/errors.js';
import { type CliHost } from '../../cli-host.js';
import { packageVersion } from '#base/package-version.js';
import { escapeTerminal } from '../print/terminal-text.js';
import { type PageContent } from './page-content.js';
import { PageFiles } from './page-files.js';
import { PageServer } from './page-server.js';

/** What {@link servePage} needs. */
export interface ServePageOptions {
  readonly host: CliHost;
  readonly content: PageContent;
  /** Of what the page is: `The page of the agent at /run/podloop.sock`. */
  readonly title: string;
  /** Where it listens (default: at the usual port, or at any if that is taken). */
  readonly port: number | undefined;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Ends it, too, when it resolves. */
  readonly over?: Promise<unknown>;
}

/** Where it listens when that port is free. */
const USUAL_PORT = 10_350;

/** `--port` of commands that serve a page. */
export function pagePortOption(): Option {
  return new Option(
    '--port <number>',
    `Port of the page on 127.0.0.1; 0 for any (default: ${USUAL_PORT}, or any if it is taken)`,
  ).argParser((value) => {
    if (/^\d{1,5}$/.test(value) && Number(value) < 65_536) return Number(value);
    throw new InvalidArgumentError('use a port from 0 to 65535');
  });
}

/** Serves a page on 127.0.0.1 until it is ended, and prints the link that opens it; Enter prints another one. */
export async function servePage({
  host,
  content,
  title,
  port: wanted,
  signal,
  over,
}: ServePageOptions): Promise<void> {
  const { stdout, stderr, stdin, clock } = host;
  await using server = new PageServer({
    ...{ content, clock, files: new PageFiles(), version: packageVersion() },
    onRefusedLink: (outcome) =>
      void stderr.writeLine(
        `A link was refused (${outcome}). If you did not open it, somebody else tried to.`,
      ),
  });
  const port = await listen(server, wanted);
  await stdout.writeLine(`${escapeTerminal(title)}, for one browser:`);
  await stdout.writeLine(`  ${server.makeLink()}`);
  if ((stdin as { readonly isTTY?: boolean }).isTTY === true) {
    await stderr.writeLine('Press Enter for another link, Ctrl-C to end.');
    const onLine = (): void => void stdout.writeLine(`  ${server.makeLink()}`);
    stdin.on('data', onLine);
    signal.addEventListener('abort', () => stdin.off('data', onLine).pause(), { once: true });
  }
  if (host.env['SSH_CONNECTION'] !== undefined)
    await stderr.writeLine(
      `From your own machine: ssh -L ${port}:127.0.0.1:${port} NODE, then open the link there.`,
    );
  await Promise.race([over ?? new Promise<never>(() => undefined), untilAborted(signal)]);
}

async function listen(server: PageServer, port: number | undefined): Promise<number> {
  try {
    return await server.listen(port ?? USUAL_PORT);
  } catch (error) {
    if (port !== undefined || !hasCode(error, 'PORT_UNUSABLE')) throw error;
    return await server.listen(0);
  }
}
