import { type Container } from '#kube/container/container.js';

/**
 * The number of a probe's port, given as a number or as the name of a container's port. Throws for an unknown
 * name. Pure.
 */
export function resolvePort(port: number | string, container: Container): number {
  const named = container.ports?.find(({ name }) => name !== undefined && name === port)?.containerPort;
  const number = typeof port === 'number' ? port : (named ?? (/^\d+$/.test(port) ? Number(port) : undefined));
  if (number === undefined)
    throw new Error(`couldn't find port: ${JSON.stringify(port)} in ${container.name}`);
  if (number < 1 || number > 65_535) throw new Error(`invalid port number: ${number}`);
  return number;
}
