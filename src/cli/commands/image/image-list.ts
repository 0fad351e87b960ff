import { Command, InvalidArgumentError, Option } from 'commander';
import { type RuntimeImage } from '#node';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { toJsonText, toYamlText } from '../../shared/print/object-text.js';
import { matchesWildcards } from '#base/text/matches-wildcards.js';
import { layOutTable } from '../../shared/print/tab-columns.js';
import { wrapNotes } from '../../help-layout.js';
import { addImageFlags, type ImageFlags, toSizeText, withImages } from './image-session.js';

interface ListFlags extends ImageFlags {
  readonly quiet: boolean;
  readonly digests: boolean;
  readonly trunc: boolean;
  readonly filter: readonly ImageFilter[];
  readonly output?: 'json' | 'yaml' | 'table';
}

type ImageFilter = (image: RuntimeImage) => boolean;

const HELP = `
Examples:
  # What is here, in the runtime of podloop's own agent or the one of this machine
  podloop images

  # All tags of one repository
  podloop images nginx

  # Ids alone, for a script
  podloop images -q

  # Those that have no name any more
  podloop images --filter dangling=true`;

const NONE = '<none>';
/** As crictl cuts them. */
const ID_LENGTH = 13;

/** `podloop images`: the images of a runtime. */
export function imagesCommand(host: CliHost): Command {
  const command = new Command('images')
    .description('List the images of a container runtime.')
    .argument(
      '[repository]',
      'Only images of this repository, as "nginx", or this one image, as "nginx:1.27"',
    )
    .option('-q, --quiet', 'Print only the ids', false)
    .option('--digests', 'Show digests', false)
    .option('--no-trunc', 'Show ids and digests in full')
    .addOption(
      new Option('-f, --filter <filter>', 'Only images with "dangling=true" or "reference=PATTERN"')
        .argParser((text: string, earlier: readonly ImageFilter[]) => [...earlier, parseFilter(text)])
        .default([], 'all images'),
    )
    .option('-a, --all', 'As without it; for those who are used to it from docker', false)
    .addOption(new Option('-o, --output <format>', 'Output format').choices(['json', 'yaml', 'table']));
  return addImageFlags(command)
    .addHelpText('after', wrapNotes(HELP))
    .action((repository: string | undefined, flags: ListFlags) =>
      withImages(host, flags, async ({ images }) => {
        const isWanted: ImageFilter = (image) =>
          isNamed(image, repository) && flags.filter.every((filter) => filter(image));
        const found = (await images.list()).filter(isWanted);
        await print(found, flags, host);
      }),
    );
}

async function print(
  images: readonly RuntimeImage[],
  { quiet, digests, trunc, output }: ListFlags,
  { stdout }: CliHost,
): Promise<void> {
  if (quiet) {
    for (const { id } of images) await stdout.writeLine(id);
    return;
  }
  if (output === 'json' || output === 'yaml') {
    const list = { images: images.map(toCriJson) } as KubeObject;
    await stdout.writeLine(output === 'json' ? toJsonText(list) : toYamlText(list));
    return;
  }
  const header = ['IMAGE', 'TAG', ...(digests ? ['DIGEST'] : []), 'IMAGE ID', 'SIZE'];
  const rows = images.flatMap((image) => {
    const cut = (digest: string): string =>
      trunc ? digest.replace(/^sha256:/, '').slice(0, ID_LENGTH) : digest;
    const digestOf = (name: string): string =>
      image.repoDigests.find((each) => each.startsWith(`${name}@`))?.split('@')[1] ?? NONE;
    return namesOf(image).map(([name, tag]) => [
      ...[name, tag, ...(digests ? [cut(digestOf(name))] : [])],
      ...[cut(image.id), toSizeText(image.size)],
    ]);
  });
  for (const line of layOutTable([header, ...rows])) await stdout.writeLine(line);
}

/** Repository and tag of each name of an image; one without a tag has the name of its digest. */
function namesOf({ repoTags, repoDigests }: RuntimeImage): readonly (readonly [string, string])[] {
  if (repoTags.length === 0) return [[repoDigests[0]?.split('@')[0] ?? NONE, NONE]];
  return repoTags.map((name) => {
    const colon = name.lastIndexOf(':');
    return [name.slice(0, colon), name.slice(colon + 1)];
  });
}

/** Whether an image has this name: a repository, a reference, or an id, as people shorten them. */
function isNamed(image: RuntimeImage, wanted: string | undefined): boolean {
  if (wanted === undefined) return true;
  const digits = wanted.replace(/^sha256:/, '');
  if (/^[0-9a-f]{4,64}$/.test(digits) && image.id.replace(/^sha256:/, '').startsWith(digits)) return true;
  const wholes = [wanted, `docker.io/${wanted}`, `docker.io/library/${wanted}`];
  const names = [...image.repoTags, ...image.repoDigests];
  const repositories = namesOf(image).map(([name]) => name);
  return wholes.some((whole) => names.includes(whole) || repositories.includes(whole));
}

/** A filter as docker and crictl take it. */
function parseFilter(text: string): ImageFilter {
  const [, name, value = ''] = /^(dangling|reference)=(.+)$/.exec(text) ?? [];
  if (name === 'dangling' && /^(true|false)$/.test(value))
    return ({ repoTags }) => (repoTags.length === 0) === (value === 'true');
  if (name === 'reference')
    return ({ repoTags }) =>
      repoTags.some((tag) => namesToMatch(tag).some((each) => matchesPath(value, each)));
  throw new InvalidArgumentError(
    'Use dangling=true, dangling=false or reference=PATTERN, as reference=nginx:1.*.',
  );
}

/** Whole and as people write it, with the tag and without. */
function namesToMatch(tag: string): readonly string[] {
  const short = tag.replace(/^docker\.io\/(library\/)?/, '');
  return [tag, short].flatMap((name) => [name, name.slice(0, name.lastIndexOf(':'))]);
}

/** A star stands for what is within one part of a path. */
function matchesPath(pattern: string, name: string): boolean {
  const [patterns, parts] = [pattern.split('/'), name.split('/')];
  return patterns.length === parts.length && patterns.every((part, at) => matchesWildcards(part, parts[at]!));
}

/** As CRI's messages are written in JSON, and crictl prints them. */
function toCriJson({ id, repoTags, repoDigests, size, uid, username, pinned }: RuntimeImage): object {
  return {
    ...{ id, repoTags, repoDigests, size: String(size), username, pinned, spec: null },
    uid: uid === undefined ? null : { value: String(uid.value) },
  };
}
