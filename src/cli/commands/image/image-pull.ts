import { Command } from 'commander';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { ImageProgress } from './image-progress.js';
import {
  addImageFlags,
  explainOtherRuntime,
  type ImageFlags,
  type ImageSession,
  isUnimplemented,
  withImages,
} from './image-session.js';

/** What the runtime says of an image that it has pulled. */
interface Pulled {
  readonly id: string;
  readonly digest?: string | undefined;
  readonly wasThere: boolean;
}

interface PullFlags extends ImageFlags {
  readonly quiet: boolean;
  readonly platform?: string;
  readonly creds?: string;
}

const HELP = `
An image that is there already is asked for again, since its name may mean another one by now. The runtime uses its own
logins; --creds is for this pull alone, and others on this machine can read it in the list of processes.

Examples:
  # From Docker Hub
  podloop pull nginx:1.27

  # For another kind of machine
  podloop pull --platform linux/arm64 busybox

  # Only its name at the end
  podloop pull -q registry.lab:5000/team/app:3`;

/** `podloop pull`: has the runtime fetch an image. */
export function pullCommand(host: CliHost): Command {
  const command = new Command('pull')
    .description('Pull an image into a container runtime.')
    .argument('<image>', 'Reference, as "nginx", "nginx:1.27" or "registry.lab:5000/app@sha256:…"')
    .option('-q, --quiet', 'Print only the name of the image', false)
    .option(
      '--platform <platform>',
      'Operating system and processor, as linux/arm64 (default: those of the machine)',
    )
    .option('--creds <user:password>', 'Login for the registry');
  return addImageFlags(command)
    .addHelpText('after', wrapNotes(HELP))
    .action((image: string, flags: PullFlags) =>
      withImages(host, flags, (session) => pull(image, flags, session, host)),
    );
}

async function pull(image: string, flags: PullFlags, session: ImageSession, host: CliHost): Promise<void> {
  const { images, transfer, signal } = session;
  const { quiet, platform } = flags;
  const login = readCreds(flags.creds);
  const progress = new ImageProgress(host);
  let pulled: Pulled | undefined;
  try {
    for await (const news of transfer.pull({ image, platform, ...login }, signal)) {
      if ('image' in news) pulled = news.image;
      else if (!quiet) await progress.show(news.layers);
    }
  } catch (error) {
    if (platform !== undefined) throw explainOtherRuntime(error, 'pull --platform', images);
    if (!isUnimplemented(error)) throw error;
    pulled = await pullByCri(image, login, session);
  }
  await report(image, pulled!, session, flags, host);
}

async function pullByCri(
  image: string,
  login: { readonly username?: string; readonly password?: string },
  { images }: ImageSession,
): Promise<Pulled> {
  const before = await images.find(image);
  const id = await images.pull(image, login.username === undefined ? undefined : login);
  const after = await images.find(id);
  return { id: after?.image.id ?? id, wasThere: before !== undefined && before.image.id === after?.image.id };
}

/** In docker's words. */
async function report(
  image: string,
  { id, digest: pulled, wasThere }: Pulled,
  { images }: ImageSession,
  { quiet }: PullFlags,
  { stdout }: CliHost,
): Promise<void> {
  const { repoTags = [], repoDigests = [] } = (await images.find(id))?.image ?? {};
  const endsAs = (name: string): boolean =>
    [image, `${image}:latest`].some((each) => name === each || name.endsWith(`/${each}`));
  const name = [...repoTags, ...repoDigests].find(endsAs) ?? image;
  if (!quiet) {
    const repository = name.replace(/(@.*|:[^:/]*)$/, '');
    // The same files may have several digests in one repository: CRI does not say which one was pulled.
    const digest = pulled ?? repoDigests.find((each) => each.startsWith(`${repository}@`))?.split('@')[1];
    if (digest !== undefined) await stdout.writeLine(`Digest: ${digest}`);
    const what = wasThere ? 'Image is up to date for' : 'Downloaded newer image for';
    await stdout.writeLine(`Status: ${what} ${name}`);
  }
  await stdout.writeLine(name);
}

function readCreds(text: string | undefined): { readonly username?: string; readonly password?: string } {
  if (text === undefined) return {};
  const colon = text.indexOf(':');
  if (colon <= 0) throw failure('--creds must be a name and a password, as in user:password');
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
