import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { type BasePrograms } from './base-programs.js';
import { type ImageDefaults, ImageLayout, type Layer } from './image-layout.js';
import { makeBaseRoot, writeScript } from './root-folder.js';

const E2E = 'registry.k8s.io/e2e-test-images';
const STAGING = 'gcr.io/k8s-staging-cri-tools';
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

const ENVIRONMENT = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
const SHELL: ImageDefaults = { Env: ENVIRONMENT, Cmd: ['sh'] };

/**
 * A web server with nginx's outside: its pid file, its process name, its title in the command line. busybox finds
 * the applet by the last part of its first argument.
 */
function nginxScript(port: number): string {
  return `#!/bin/sh
echo $$ > /var/run/nginx.pid
exec -a 'nginx: master process /bin/httpd' /usr/sbin/nginx -f -p ${port} -h /usr/share/nginx/html
`;
}

const HTTPD_SCRIPT = `#!/bin/sh
echo 'httpd serves on port 80'
exec httpd -f -p 80 -h /usr/local/apache2/htdocs
`;

/** Tries to become root through a set-user-id program and tells how that went. */
const ESCALATION_SCRIPT = `#!/bin/sh
uid=$(/bin/su root -c 'id -u' 2>/dev/null) || uid=$(id -u)
echo "Effective uid: $uid"
`;

interface TestImage {
  readonly names: readonly string[];
  readonly config: ImageDefaults;
  /** Writes what this image has above the base. */
  readonly addFiles?: (root: string) => Promise<void>;
}

const TEST_IMAGES: readonly TestImage[] = [
  { names: [`${E2E}/busybox:1.29-2`], config: SHELL },
  webServer(`${E2E}/nginx:1.14-2`, 80),
  webServer(`${STAGING}/hostnet-nginx-${ARCHITECTURES[process.arch] ?? process.arch}:latest`, 12003),
  {
    names: [`${E2E}/httpd:2.4.39-4`],
    config: { Env: ENVIRONMENT, Cmd: ['/usr/local/bin/httpd-foreground'] },
    addFiles: async (root) => {
      await writeScript(root, 'usr/local/bin/httpd-foreground', HTTPD_SCRIPT);
      await writePage(root, 'usr/local/apache2/htdocs');
    },
  },
  {
    names: [`${E2E}/nonewprivs:1.3`],
    config: { Env: ENVIRONMENT, Entrypoint: ['/nnp'] },
    addFiles: async (root) => writeScript(root, 'nnp', ESCALATION_SCRIPT),
  },
  {
    names: ['registry.k8s.io/pause:3.9', 'k8s.gcr.io/pause:3.9'],
    config: { Env: ENVIRONMENT, Entrypoint: ['/bin/tail', '-f', '/dev/null'] },
    addFiles: async (root) => writeFile(path.join(root, 'pause'), ''),
  },
  { names: [`${STAGING}/test-image-user-uid:latest`], config: { ...SHELL, User: '1002' } },
  { names: [`${STAGING}/test-image-user-username:latest`], config: { ...SHELL, User: 'www-data' } },
  { names: [`${STAGING}/test-image-user-uid-group:latest`], config: { ...SHELL, User: '1003:1004' } },
  {
    names: [`${STAGING}/test-image-user-username-group:latest`],
    config: { ...SHELL, User: 'www-data:1004' },
  },
  { names: [`${STAGING}/test-image-predefined-group:latest`], config: { ...SHELL, User: '1000' } },
  ...['1', '2', '3', 'latest', 'digest'].map((name) => marked(`test-image-${name}`, [`${name}:latest`])),
  marked('same-image', ['tags:1', 'tags:2', 'tags:3']),
  marked('test', ['tag:test']),
  marked('all', ['tag:all']),
];

/** One of the images that differ in nothing but a file. */
function marked(file: string, endings: readonly string[]): TestImage {
  return {
    names: endings.map((ending) => `${STAGING}/test-image-${ending}`),
    config: SHELL,
    addFiles: async (root) => writeFile(path.join(root, file), ''),
  };
}

function webServer(name: string, port: number): TestImage {
  return {
    names: [name],
    config: { Env: ENVIRONMENT, Cmd: ['/usr/sbin/start-nginx'] },
    addFiles: async (root) => {
      await writeScript(root, 'usr/sbin/start-nginx', nginxScript(port));
      await writePage(root, 'usr/share/nginx/html');
    },
  };
}

async function writePage(root: string, folder: string): Promise<void> {
  await mkdir(path.join(root, folder), { recursive: true });
  await writeFile(path.join(root, folder, 'index.html'), '<html><body>It works</body></html>\n');
}

/**
 * Makes every image that critest pulls, under the names that it asks for, as one OCI layout below the folder. The
 * one that it asks for by digest cannot be among them: only its publisher has those bytes.
 */
export async function makeTestImages(
  imageDir: string,
  scratch: string,
  programs: BasePrograms,
): Promise<void> {
  const layout = await ImageLayout.create(path.join(imageDir, 'critest'));
  const baseRoot = path.join(scratch, 'root-base');
  await makeBaseRoot(baseRoot, programs);
  const base = await layout.addLayer(baseRoot);
  const nginx = await addNginxProgram(layout, scratch, programs);
  for (const [at, { names, config, addFiles }] of TEST_IMAGES.entries()) {
    const layers: Layer[] = [base];
    if (names.some((name) => name.includes('nginx'))) layers.push(nginx);
    if (addFiles !== undefined) {
      const root = path.join(scratch, `root-${at}`);
      await mkdir(root, { recursive: true });
      await addFiles(root);
      layers.push(await layout.addLayer(root));
    }
    await layout.addImage(names, layers, config);
  }
  await layout.close();
  await rm(baseRoot, { recursive: true });
}

/** busybox once more under nginx's name: a process is called after the file that it runs. */
async function addNginxProgram(layout: ImageLayout, scratch: string, programs: BasePrograms): Promise<Layer> {
  const root = path.join(scratch, 'root-nginx');
  await mkdir(path.join(root, 'usr/sbin'), { recursive: true });
  await copyFile(programs.busybox, path.join(root, 'usr/sbin/nginx'));
  await chmod(path.join(root, 'usr/sbin/nginx'), 0o755);
  return layout.addLayer(root);
}
