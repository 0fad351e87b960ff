import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { normalize, resolve } from 'node:path';
import { type ContainerConfig } from '#watch/messages';
import { type ContainerRecord, type ImageDefaults } from './container-record.js';
import { CONTAINER_MARK } from '../process/process-table.js';
import { DEFAULT_PATH, searchPath } from './search-path.js';
import { type ContainerCommand } from './supervisor-script.js';

/** What {@link computeCommand} looks at. */
export type CommandSource = Pick<ContainerRecord, 'id' | 'config' | 'image' | 'user'>;

/**
 * What a container's entrypoint is made of: what the request says, else what the image says. A request with a command
 * leaves out the image's arguments, too.
 */
export function computeCommand(
  { id, config, image, user }: CommandSource,
  sandboxHostname: string,
): ContainerCommand {
  const environment = new Map<string, Buffer>([
    ['PATH', Buffer.from(DEFAULT_PATH)],
    ['HOME', Buffer.from(user.home)],
    ['HOSTNAME', Buffer.from(sandboxHostname === '' ? hostname() : sandboxHostname)],
    ...(config.tty ? [['TERM', Buffer.from('xterm')] as const] : []),
  ]);
  for (const variable of image.env) {
    const at = variable.indexOf('=');
    if (at > 0) environment.set(variable.slice(0, at), Buffer.from(variable.slice(at + 1)));
  }
  for (const { key, value } of config.envs) environment.set(key, value);
  environment.set(CONTAINER_MARK, Buffer.from(id));
  return {
    argv: computeArgv(config, image),
    environment: [...environment].map(([key, value]) => Buffer.concat([Buffer.from(`${key}=`), value])),
    // An image's may be relative, and there is nothing but the root that it could be relative to.
    workingDir: normalize(`/${config.workingDir === '' ? image.workingDir : config.workingDir}`),
  };
}

/** Empty when neither the request nor the image says what is to be run. */
export function computeArgv(
  config: ContainerConfig,
  image: Pick<ImageDefaults, 'entrypoint' | 'cmd'>,
): string[] {
  const { command, args } = config;
  if (command.length > 0) return [...command, ...args];
  return [...image.entrypoint, ...(args.length > 0 ? args : image.cmd)];
}

/**
 * Why a command cannot be executed, in the words of a runtime that tried; undefined when it can.
 *
 * Asked before the start, because a shell's exit code 127 says too little. Covers a missing file or folder,
 * missing rights, folders, and files that are no program; a change between this look and the start ends as an
 * exit code of 126 or 127.
 */
export async function findCommandFault(command: ContainerCommand): Promise<string | undefined> {
  const { workingDir } = command;
  const cwd = await stat(workingDir).catch(() => undefined);
  if (cwd === undefined) return `chdir to cwd ("${workingDir}"): no such file or directory`;
  if (!cwd.isDirectory()) return `chdir to cwd ("${workingDir}"): not a directory`;
  const [name = ''] = command.argv;
  if (name.includes('/')) {
    const fault = await findFileFault(resolve(workingDir, name));
    return fault && `exec: "${name}": ${fault}`;
  }
  let best: string | undefined;
  for (const folder of searchPath(command)) {
    const fault = await findFileFault(resolve(workingDir, folder, name));
    if (fault === undefined) return undefined;
    if (fault !== MISSING) best ??= fault;
  }
  return `exec: "${name}": ${best ?? 'executable file not found in $PATH'}`;
}

const MISSING = 'no such file or directory';

async function findFileFault(file: string): Promise<string | undefined> {
  const facts = await stat(file).catch(() => undefined);
  if (facts === undefined) return MISSING;
  if (facts.isDirectory()) return 'is a directory';
  if (!(await isExecutable(file))) return 'permission denied';
  return findFormatFault(file);
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function findFormatFault(file: string): Promise<string | undefined> {
  let head: string;
  try {
    await using handle = await open(file, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    head = buffer.toString('latin1', 0, bytesRead);
  } catch {
    // Executable and not readable is legal: the kernel will know.
    return undefined;
  }
  if (head.startsWith('\x7fELF')) return undefined;
  const interpreter = /^#![ \t]*([^\s]+)/.exec(head)?.[1];
  if (interpreter === undefined) return 'exec format error';
  return (await isExecutable(interpreter)) ? undefined : MISSING;
}
