import { Command } from 'commander';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { ImageProgress } from './image-progress.js';
import {
  addImageFlags,
  explainOtherRuntime,
  type ImageFlags,
  type ImageSession,
  withImages,
} from './image-session.js';

interface LoadFlags extends ImageFlags {
  readonly input?: string;
  readonly quiet: boolean;
  readonly platform?: string;
}

const HELP = `
An archive is what "docker save", "podman save", "skopeo copy" (docker-archive, oci-archive) or "podloop save" writes, also
compressed with gzip or zstd. It needs the runtime in the box: others have tools of their own for it.

Examples:
  # From a file
  podloop load -i nginx.tar.gz

  # From another machine
  ssh build docker save app:3 | podloop load`;

/** `podloop load`: hands an archive of images to the runtime. */
export function loadCommand(host: CliHost): Command {
  const command = new Command('load')
    .description('Load images from an archive into the runtime in the box.')
    .option('-i, --input <file>', 'Archive to read (default: standard input)')
    .option('-q, --quiet', 'Print only the names of the images', false)
    .option(
      '--platform <platform>',
      'Which of several platforms, as linux/arm64 (default: that of the machine)',
    );
  return addImageFlags(command)
    .addHelpText('after', wrapNotes(HELP))
    .action((flags: LoadFlags) => withImages(host, flags, (session) => load(flags, session, host)));
}

async function load(flags: LoadFlags, session: ImageSession, host: CliHost): Promise<void> {
  const { input, quiet, platform } = flags;
  const { images, transfer, signal } = session;
  if (input === undefined && (host.stdin as { readonly isTTY?: boolean }).isTTY === true)
    throw failure('requested load from stdin, but stdin is empty');
  const facts = { platform, name: input === undefined ? undefined : basename(input) };
  const progress = new ImageProgress(host);
  try {
    for await (const news of transfer.load(await openInput(input, host), facts, signal)) {
      if ('layers' in news) {
        if (!quiet) await progress.show(news.layers);
        continue;
      }
      progress.end();
      const { id, names } = news.image;
      const lines =
        names.length > 0 ? names.map((name) => `Loaded image: ${name}`) : [`Loaded image ID: ${id}`];
      for (const line of lines) await host.stdout.writeLine(line);
    }
  } catch (error) {
    throw explainOtherRuntime(error, 'load', images);
  }
}

async function openInput(file: string | undefined, { stdin }: CliHost): Promise<AsyncIterable<Uint8Array>> {
  if (file === undefined) return stdin;
  try {
    if ((await stat(file)).isDirectory()) throw failure(`${file} is a folder and no archive`);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') throw failure(`the path ${JSON.stringify(file)} does not exist`);
    throw systemCodeOf(error) === '' ? error : failure(messageOf(error));
  }
  return createReadStream(file, { highWaterMark: 256 * 1024 });
}
