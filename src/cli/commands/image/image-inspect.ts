import { Command, Option } from 'commander';
import { type RuntimeImage } from '#node';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { isRecord } from '#base/text/is-record.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { toYamlText } from '../../shared/print/object-text.js';
import { imagesCommand } from './image-list.js';
import { loadCommand } from './image-load.js';
import { pullCommand } from './image-pull.js';
import { pruneCommand, removeImageCommand } from './image-remove.js';
import { saveCommand } from './image-save.js';
import { addImageFlags, type ImageFlags, withImages } from './image-session.js';

interface InspectFlags extends ImageFlags {
  readonly output: 'json' | 'yaml';
}

const HELP = `
Examples:
  # Everything that is known of an image
  podloop image inspect nginx:1.27

  # What it runs
  podloop image inspect nginx:1.27 | jq '.[0].Config.Cmd'`;

const GROUP_HELP = `
"podloop image ls", "pull", "load", "save", "rm" and "prune" are "podloop images", "podloop pull", and so on.`;

/** `podloop image`: the same commands under docker's other names, and `inspect`. */
export function imageCommand(host: CliHost): Command {
  const group = new Command('image').description('List, pull, load, save, remove and inspect images.');
  const commands = [
    imagesCommand(host).name('ls').alias('list'),
    ...[pullCommand(host), loadCommand(host), saveCommand(host)],
    removeImageCommand(host).name('rm').alias('remove'),
    ...[pruneCommand(host), inspectCommand(host)],
  ];
  for (const command of commands) group.addCommand(command);
  return group.addHelpText('after', wrapNotes(GROUP_HELP));
}

function inspectCommand(host: CliHost): Command {
  const command = new Command('inspect')
    .description('Show all that is known of images.')
    .argument('<image...>', 'References or ids')
    .addOption(
      new Option('-o, --output <format>', 'Output format').choices(['json', 'yaml']).default('json'),
    );
  return addImageFlags(command)
    .addHelpText('after', wrapNotes(HELP))
    .action((names: string[], flags: InspectFlags) =>
      withImages(host, flags, async ({ images }) => {
        const found: object[] = [];
        const missing: string[] = [];
        for (const name of names) {
          const known = await images.find(name, true);
          if (known === undefined) missing.push(`error: no such image: ${name}`);
          else found.push(toDockerJson(known.image, known.info));
        }
        const text =
          flags.output === 'yaml' ? toYamlText(found as KubeObject) : JSON.stringify(found, undefined, 4);
        await host.stdout.writeLine(text);
        if (missing.length > 0) throw new CommandFailure(missing);
      }),
    );
}

/** As `docker image inspect` shows it; parts that the runtime does not know are absent. */
function toDockerJson(
  { id, repoTags, repoDigests, size, pinned }: RuntimeImage,
  info: Readonly<Record<string, string>>,
): object {
  const { imageSpec } = parseJsonObject(info['info'] ?? '') ?? {};
  const spec = isRecord(imageSpec) ? imageSpec : {};
  const { created, author, architecture, variant, os, config, rootfs } = spec;
  return {
    ...{ Id: id, RepoTags: repoTags, RepoDigests: repoDigests },
    ...(created !== undefined && { Created: created }),
    ...(author !== undefined && { Author: author }),
    ...(config !== undefined && { Config: config }),
    ...(architecture !== undefined && { Architecture: architecture }),
    ...(variant !== undefined && { Variant: variant }),
    ...(os !== undefined && { Os: os }),
    ...{ Size: Number(size), Pinned: pinned },
    ...(isRecord(rootfs) && { RootFS: { Type: 'layers', Layers: rootfs['diff_ids'] } }),
  };
}
