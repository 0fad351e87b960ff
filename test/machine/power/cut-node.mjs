// What churn.mjs and inspect.mjs share: where the two agents of a node whose power is cut have their things. Runs in the
// emulated node, by plain Node.
import { request } from 'node:http';

/** Everything lies in here; a disk of its own may be mounted there. */
export const HOME = '/var/lib/cut';
/** Appended to by churn.mjs, line by line, each synced. */
export const LEDGER = `${HOME}/ledger`;
/** Where pods that run once leave a line for each run. */
export const RUNS = `${HOME}/runs`;
export const AGENTS = ['containerd', 'box'];

export const manifestsOf = (agent) => `${HOME}/${agent}/manifests`;
export const rootOf = (agent) => `${HOME}/${agent}/agent`;

/** The number of seconds that a pod sleeps: no other process has it as an argument. */
export const sleepOf = (agent, pod, version) =>
  1_000_000 * (1 + AGENTS.indexOf(agent)) + 10_000 * (1 + Number(pod.split('-')[1])) + version;

/**
 * The name in its manifest of a pod that churn.mjs makes, from the name that the agent shows, which has the node's behind it; undefined
 * for any other pod.
 */
export const findMade = (name) => /^(?:keep|once)-\d+/.exec(name)?.[0];

/** Asks an agent at its socket; resolves with the code and the body. */
export function ask(agent, path, { method = 'GET', body, timeoutMs = 300_000 } = {}) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const socketPath = `${rootOf(agent)}/podloop.sock`;
    const call = request(
      { socketPath, path, method, headers, agent: false, timeout: timeoutMs },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (part) => (text += part));
        answer.on('error', reject);
        answer.on('end', () => resolve({ code: answer.statusCode, text }));
      },
    );
    call.on('timeout', () => call.destroy(new Error(`${method} ${path} was not answered`)));
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The records of an agent's history, from an answer in server-sent events. */
export async function readHistory(agent, query) {
  const { code, text } = await ask(agent, `/events?follow=false&${query}`);
  if (code !== 200) throw new Error(`the history of ${agent} cannot be read: ${code} ${text}`);
  return text.split('\n\n').flatMap((block) => {
    const id = /^id: ?(.*)$/m.exec(block)?.[1];
    const data = /^data: ?(.*)$/m.exec(block)?.[1];
    return id === undefined || data === undefined ? [] : [{ id, ...JSON.parse(data) }];
  });
}
