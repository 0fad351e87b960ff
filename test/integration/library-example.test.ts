import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { readModuleExamples } from '../installed-package.js';
import { spawnSyntheticRuntime } from '#testing/synthetic-runtime/index.js';

const PROJECT = new URL('../../', import.meta.url);
const EXAMPLE = new URL('examples/library/print-deaths.ts', PROJECT);

describe('the example of the library', () => {
  it('stands in the README word for word', async () => {
    const [readme, example] = await Promise.all([
      readFile(new URL('README.md', PROJECT), 'utf8'),
      readFile(EXAMPLE, 'utf8'),
    ]);
    expect(readme).toContain('```ts\n' + example + '```\n');
  });

  it('of a test stands in its guide word for word', async () => {
    const guide = await readFile(new URL('docs/guides/build-on-it.md', PROJECT), 'utf8');
    const example = readModuleExamples().get('podloop/testing')!;
    expect(guide).toContain('```ts\n' + example + '```\n');
  });

  it('prints deaths and ends with Ctrl-C', async () => {
    await using node = await spawnSyntheticRuntime({ pods: 1, containersPerPod: 1 });
    const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
    const { outputText } = ts.transpileModule(await readFile(EXAMPLE, 'utf8'), { compilerOptions: options });
    const child = spawn(process.execPath, ['--input-type=module', '--eval', outputText], {
      // The package refers to itself by its name from here.
      cwd: fileURLToPath(PROJECT),
      env: { PATH: process.env['PATH'], CONTAINER_RUNTIME_ENDPOINT: node.endpoint },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      const [pod] = await node.control.pods();
      await node.control.kill({ podUids: [pod!.uid] }, { exitCode: 3 });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      expect((await lines.next()).value).toBe(
        `${pod!.namespace}/${pod!.name}: ${pod!.containers[0]!.name} ended with 3 (Error)`,
      );
      child.kill('SIGINT');
      expect(await ended).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
