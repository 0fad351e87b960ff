import { Command } from 'commander';
import { open, rename, rm, stat } from 'node:fs/promises';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { addImageFlags, explainOtherRuntime, type ImageFlags, withImages } from './image-session.js';

interface SaveFlags extends ImageFlags {
  readonly output?: string;
}

const HELP = `
The archive is an OCI image layout and what "docker load" reads at once. It needs the runtime in the box: others have tools
of their own for it.

Examples:
  # Into a file
  podloop save -o app.tar app:3

  # To another machine
  podloop save app:3 | gzip | ssh node podloop load`;

/** `podloop save`: writes images into an archive. */
export function saveCommand(host: CliHost): Command {
  const command = new Command('save')
    .description('Save images of the runtime in the box into an archive.')
    .argument('<image...>', 'References or ids')
    .option('-o, --output <file>', 'File to write (default: standard output)');
  return addImageFlags(command)
    .addHelpText('after', wrapNotes(HELP))
    .action((wanted: string[], flags: SaveFlags) => {
      if (flags.output === undefined && host.stdout.isTerminal)
        throw failure('cowardly refusing to save to a terminal. Use the -o flag or redirect');
      return withImages(host, flags, async ({ images, transfer, signal }) => {
        const archive = transfer.save(wanted, signal);
        try {
          if (flags.output === undefined) {
            for await (const chunk of archive) await host.stdout.write(chunk, signal);
          } else await writeFile(flags.output, archive, host);
        } catch (error) {
          throw explainOtherRuntime(error, 'save', images);
        }
      });
    });
}

/** The file gets its name once it is whole; what is no file, such as a pipe, is written to as it is. */
async function writeFile(path: string, archive: AsyncIterable<Uint8Array>, { pid }: CliHost): Promise<void> {
  const known = await stat(path).catch(() => undefined);
  const isOther = known !== undefined && !known.isFile();
  const place = isOther ? path : `${path}.${pid}.tmp`;
  try {
    {
      await using file = await open(place, 'w', 0o666);
      for await (const chunk of archive) await file.writeFile(chunk);
    }
    if (!isOther) await rename(place, path);
  } catch (error) {
    if (!isOther) await rm(place, { force: true });
    throw systemCodeOf(error) === ''
      ? error
      : failure(`${path} cannot be written: ${messageOf(error).replaceAll(place, path)}`);
  }
}
