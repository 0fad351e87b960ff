import assert from 'node:assert/strict';

import { type CaseScope } from './case-scope.js';

/** What a runtime must show of a container and a pod from the creation to the end. */
export const LIFE_CYCLE_CASES: Readonly<Record<string, (scope: CaseScope) => Promise<void>>> = {
  'shows a pod with its names and its running sandbox': async (scope) => {
    const pod = await scope.makePod();
    const { uid, namespace, name, owner, sandboxes, containers } = await scope.getListed(pod);
    assert.deepEqual([uid, namespace, name, owner], [pod.uid, pod.namespace, pod.name, 'kubernetes']);
    assert.equal(sandboxes.length, 1);
    const [sandbox] = sandboxes;
    assert.equal(sandbox?.kind, 'sandbox');
    assert.equal(sandbox.state, 'running');
    assert.deepEqual([sandbox.id, sandbox.sandboxId], [pod.sandboxId, pod.sandboxId]);
    assert.ok(sandbox.createdAtNs > 0n, 'the sandbox has no time of creation');
    assert.deepEqual(containers, []);
  },

  'shows a container created, running and exited': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.createContainer(pod, { name: 'app' });
    const created = await scope.awaitState(pod, id, 'created');
    assert.deepEqual([created.kind, created.name, created.attempt], ['container', 'app', 0]);
    assert.equal(created.sandboxId, pod.sandboxId);
    await scope.driver.startContainer(id);
    await scope.awaitState(pod, id, 'running');
    await scope.driver.killContainer(id);
    const exited = await scope.awaitState(pod, id, 'exited');
    assert.equal(exited.createdAtNs, created.createdAtNs, 'the time of creation changed');
  },

  'tells the exit code of a program that ended by itself, and that it failed': async (scope) => {
    const pod = await scope.makePod();
    const status = await scope.getContainerStatus(pod, await scope.runToItsEnd(pod, 3));
    assert.deepEqual([status.state, status.exitCode, status.reason], ['exited', 3, 'Error']);
  },

  'calls a program that ended with 0 completed': async (scope) => {
    const pod = await scope.makePod();
    const status = await scope.getContainerStatus(pod, await scope.runToItsEnd(pod, 0));
    assert.deepEqual([status.state, status.exitCode, status.reason], ['exited', 0, 'Completed']);
  },

  'tells the exit code of a killed program': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.runContainer(pod);
    await scope.driver.killContainer(id);
    await scope.awaitState(pod, id, 'exited');
    const status = await scope.getContainerStatus(pod, id);
    assert.equal(status.exitCode, 137);
  },

  'tells when a container was created, started and ended, in that order': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.createContainer(pod);
    const created = await scope.getContainerStatus(pod, id);
    assert.ok(created.createdAtNs > 0n, 'no time of creation');
    assert.deepEqual([created.state, created.startedAtNs, created.finishedAtNs], ['created', 0n, 0n]);
    await scope.driver.startContainer(id);
    const running = await scope.getContainerStatus(pod, id);
    assert.ok(running.startedAtNs >= created.createdAtNs, 'started before it was created');
    assert.deepEqual([running.state, running.finishedAtNs], ['running', 0n]);
    await scope.driver.killContainer(id);
    await scope.awaitState(pod, id, 'exited');
    const exited = await scope.getContainerStatus(pod, id);
    assert.ok(exited.finishedAtNs >= exited.startedAtNs, 'ended before it was started');
    assert.deepEqual(
      [exited.createdAtNs, exited.startedAtNs],
      [running.createdAtNs, running.startedAtNs],
      'a time that was told changed later',
    );
  },

  'keeps the attempts of a name apart, oldest first': async (scope) => {
    const pod = await scope.makePod();
    const first = await scope.runToItsEnd(pod, 1);
    const second = await scope.runContainer(pod, { attempt: 1 });
    const { containers } = await scope.getListed(pod);
    assert.deepEqual(
      containers.map(({ id, attempt, state }) => [id, attempt, state]),
      [
        [first, 0, 'exited'],
        [second, 1, 'running'],
      ],
    );
    const status = await scope.getContainerStatus(pod, second);
    assert.deepEqual([status.attempt, status.restartCount], [1, 1]);
  },

  'forgets a removed container and keeps its pod': async (scope) => {
    const pod = await scope.makePod();
    const gone = await scope.runToItsEnd(pod, 0);
    const kept = await scope.runContainer(pod, { name: 'other' });
    await scope.driver.removeContainer(gone);
    const { containers } = await scope.getListed(pod);
    assert.deepEqual(
      containers.map(({ id }) => id),
      [kept],
    );
  },

  'shows a stopped sandbox as exited, with its containers exited': async (scope) => {
    const pod = await scope.makePod();
    const id = await scope.runContainer(pod);
    await scope.driver.stopSandbox(pod.sandboxId);
    await scope.awaitState(pod, pod.sandboxId, 'exited');
    await scope.awaitState(pod, id, 'exited');
    const { ips, sandboxes } = await scope.getStatus(pod);
    assert.deepEqual([ips, sandboxes[0]?.state], [[], 'exited']);
  },

  'knows nothing of a removed pod': async (scope) => {
    const pod = await scope.makePod();
    await scope.runContainer(pod);
    await scope.removePod(pod);
    assert.equal(await scope.runtime.findPod(pod.uid, scope.signal), undefined);
    const uids = (await scope.runtime.listPods(scope.signal)).map(({ uid }) => uid);
    assert.ok(!uids.includes(pod.uid), 'the list still shows it');
  },

  'puts each container into its own pod': async (scope) => {
    const pods = [await scope.makePod(), await scope.makePod(), await scope.makePod()];
    const ids = await Promise.all(pods.map(async (pod) => scope.runContainer(pod)));
    for (const [index, pod] of pods.entries()) {
      const { containers } = await scope.getListed(pod);
      assert.deepEqual(
        containers.map(({ id }) => id),
        [ids[index]],
      );
    }
  },
};
