import { Command } from 'commander';
import { findImageUsers, type ImageUser, type RuntimeImage } from '#node';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { isYes } from '../../shared/streaming/read-answer.js';
import {
  addImageFlags,
  type ImageFlags,
  type ImageSession,
  toSizeText,
  withImages,
} from './image-session.js';

interface RemoveFlags extends ImageFlags {
  readonly all: boolean;
  readonly prune: boolean;
  readonly force: boolean;
}

interface PruneFlags extends ImageFlags {
  readonly all: boolean;
  readonly force: boolean;
}

const REMOVE_HELP = `
A name is taken from its image, and the image goes with its last name; by an id it goes with all of them. (containerd removes
all names either way.) An image that a container was made from stays: with --force only as long as such a container runs.

Examples:
  podloop rmi nginx:1.27
  podloop rmi --prune`;

const PRUNE_HELP = `
Images that a container was made from stay, and so do pinned ones.

Examples:
  # What has no name any more
  podloop prune

  # Everything that nobody uses, without a question
  podloop prune -a -f`;

/** `podloop rmi`: removes images. */
export function removeImageCommand(host: CliHost): Command {
  const command = new Command('rmi')
    .description('Remove images from a container runtime.')
    .argument('[image...]', 'References or ids')
    .option('-a, --all', 'Remove all images that nobody uses, except pinned ones', false)
    .option('-q, --prune', 'The same as --all, as crictl calls it', false)
    .option(
      '-f, --force',
      'Also those that ended containers use; an image that is not there is no error',
      false,
    );
  return addImageFlags(command)
    .addHelpText('after', wrapNotes(REMOVE_HELP))
    .action((names: string[], flags: RemoveFlags) => {
      const isAll = flags.all || flags.prune;
      if (names.length === 0 && !isAll) throw failure('"podloop rmi" requires at least 1 argument');
      if (names.length > 0 && isAll) throw failure('images cannot be named together with --all or --prune');
      return withImages(host, flags, async (session) => {
        if (isAll) await removeUnused(session, { all: true }, host);
        else await removeNamed(names, flags, session, host);
      });
    });
}

/** `podloop prune`: removes images that nobody uses. */
export function pruneCommand(host: CliHost): Command {
  const command = new Command('prune')
    .description('Remove images that no container uses.')
    .option('-a, --all', 'Remove all images that nobody uses, not only those without a tag', false)
    .option('-f, --force', 'Do not ask', false);
  return addImageFlags(command)
    .addHelpText('after', wrapNotes(PRUNE_HELP))
    .action((flags: PruneFlags) =>
      withImages(host, flags, async (session) => {
        const what = flags.all
          ? 'all images without at least one container associated to them'
          : 'all dangling images';
        if (!flags.force && !(await isConfirmed(what, host, session.signal))) return;
        const removed = await removeUnused(session, flags, host);
        const bytes = removed.reduce((sum, { size }) => sum + size, 0n);
        await host.stdout.writeLine(`Total reclaimed space: ${toSizeText(bytes)}`);
      }),
    );
}

async function removeNamed(
  names: readonly string[],
  { force }: RemoveFlags,
  { images }: ImageSession,
  host: CliHost,
): Promise<void> {
  const faults: string[] = [];
  for (const name of names) {
    const found = await images.find(name);
    if (found === undefined) {
      if (!force) faults.push(`error: no such image: ${name}`);
      continue;
    }
    const { image } = found;
    const users = findImageUsers(image, await images.listUsers());
    const holding = users.filter(({ isRunning }) => isRunning || !force);
    if (holding.length > 0 && !keepsOtherNames(image, name, images.runtimeName)) {
      faults.push(toConflict(name, holding, users));
      continue;
    }
    await images.remove(name);
    await report(image, host, (await images.find(image.id))?.image);
  }
  if (faults.length > 0) throw new CommandFailure(faults);
}

/** Whether the image stays under another tag when it is removed by this name. containerd removes all names at once. */
function keepsOtherNames({ id, repoTags }: RuntimeImage, name: string, runtimeName: string): boolean {
  const digits = (text: string): string => text.replace(/^sha256:/, '');
  const isId = digits(id).startsWith(digits(name));
  return !isId && repoTags.length > 1 && !/containerd/i.test(runtimeName);
}

function toConflict(name: string, [first, ...rest]: readonly ImageUser[], all: readonly ImageUser[]): string {
  const more = rest.length === 0 ? '' : ` and ${rest.length} more`;
  const hint = all.some(({ isRunning }) => isRunning) ? '' : ' (--force removes it)';
  return `error: conflict: unable to remove ${name}: it is in use by ${first!.name}${more}${hint}`;
}

async function removeUnused(
  { images }: ImageSession,
  { all }: { readonly all: boolean },
  host: CliHost,
): Promise<readonly RuntimeImage[]> {
  const listed = await images.list();
  // After the list: a container that comes in between keeps its image.
  const users = await images.listUsers();
  const removed: RuntimeImage[] = [];
  for (const image of listed) {
    if (image.pinned || (!all && image.repoTags.length > 0)) continue;
    if (findImageUsers(image, users).length > 0) continue;
    await images.remove(image.id);
    await report(image, host);
    removed.push(image);
  }
  return removed;
}

/** In docker's words; `left` is the image under the names that stay. */
async function report(
  { id, repoTags, repoDigests }: RuntimeImage,
  { stdout }: CliHost,
  left?: RuntimeImage,
): Promise<void> {
  const stay = new Set([...(left?.repoTags ?? []), ...(left?.repoDigests ?? [])]);
  const gone = [...repoTags, ...repoDigests].filter((name) => !stay.has(name));
  for (const name of gone) await stdout.writeLine(`Untagged: ${name}`);
  if (left === undefined) await stdout.writeLine(`Deleted: ${id}`);
}

async function isConfirmed(what: string, { stdin, stdout }: CliHost, signal: AbortSignal): Promise<boolean> {
  await stdout.write(`WARNING! This will remove ${what}.\nAre you sure you want to continue? [y/N] `);
  return isYes(stdin, stdout, signal);
}
