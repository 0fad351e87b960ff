import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findByArguments, findDescendants, signalProcess } from '../../containerd/harness/processes.js';

/** How a call of runc is held up: for how many seconds, or at a fifo that nobody writes to. */
export type Delay = { readonly seconds: number } | { readonly fifo: true };

/**
 * A script in the place of runc that hands every call on to the real one, after a delay where a rule asks for one. A rule
 * is a file named after the operation and the pod.
 */
export class HangingRunc {
  readonly program: string;
  readonly #rules: string;
  readonly #sleep: string;

  private constructor(folder: string) {
    this.program = path.join(folder, 'slow-runc');
    this.#rules = path.join(folder, 'rules');
    this.#sleep = path.join(folder, 'sleep');
  }

  static async create(folder: string, runc: string, busybox: string): Promise<HangingRunc> {
    const hanging = new HangingRunc(folder);
    await mkdir(hanging.#rules, { recursive: true });
    await symlink(busybox, hanging.#sleep);
    await writeFile(hanging.program, script(hanging.#rules, runc, busybox));
    await chmod(hanging.program, 0o755);
    return hanging;
  }

  /** Holds up calls of an operation (`create`, `exec`, `kill`, `delete`) for a pod, or for `all`. */
  async delay(operation: string, pod: string, delay: Delay): Promise<void> {
    await writeFile(
      path.join(this.#rules, `${operation}.${pod}`),
      'seconds' in delay ? String(delay.seconds) : 'fifo',
    );
  }

  /** How many calls are held up now. */
  async countHeldUp(): Promise<number> {
    return (await findByArguments(this.#sleep)).length;
  }

  /** Ends the calls that are held up, which fail then; those that come from now on are not. */
  async release(): Promise<void> {
    await rm(this.#rules, { recursive: true, force: true });
    await mkdir(this.#rules);
    // containerd 2 ends a call after ten seconds, and not what that waits for.
    const left = await findByArguments(this.#sleep);
    for (const call of [...(await findByArguments(this.program)), ...left]) {
      for (const each of [...(await findDescendants(call)), call]) await signalProcess(each, 'SIGKILL');
    }
  }
}

/** Whose call it is stands in the configuration of its bundle: that of `create`, or the folder of the same id beside this one. */
function script(rules: string, runc: string, busybox: string): string {
  return `#!/bin/sh
operation= bundle= id= last=
for word in "$@"; do
  case "$word" in
    create|start|exec|kill|delete|update|state) [ -n "$operation" ] || operation=$word ;;
    ????????????????????????????????????????????????????????????????) id=$word ;;
  esac
  [ "$last" != --bundle ] || bundle=$word
  last=$word
done
for rule in ${rules}/$operation.*; do
  [ -f "$rule" ] || continue
  pod=\${rule##*/$operation.}
  if [ "$pod" != all ]; then
    ${busybox} grep -qs "sandbox-name\\": *\\"$pod" "$bundle/config.json" "../$id/config.json" "./config.json" || continue
  fi
  delay=$(${busybox} cat "$rule")
  if [ "$delay" = fifo ]; then
    ${busybox} mkfifo ${rules}/../fifo.$$
    read -r line < ${rules}/../fifo.$$
  else
    ${path.dirname(rules)}/sleep "$delay"
  fi
done
exec ${runc} "$@"
`;
}
