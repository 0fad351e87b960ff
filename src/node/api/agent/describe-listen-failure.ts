import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { findPortHolder } from './find-port-holder.js';

/** Why listening at a port failed, and what to do: a sentence for people. */
export async function describeListenFailure(error: unknown, port: number): Promise<string> {
  switch (systemCodeOf(error)) {
    case 'EADDRINUSE': {
      const holder = await findPortHolder(port);
      const who = holder === undefined ? 'somebody else' : `${holder.name} (process ${holder.pid})`;
      return `${who} listens there; end that one, choose another port, or 0 for none`;
    }
    case 'EADDRNOTAVAIL':
      return 'the address is not of this machine';
    case 'EACCES':
      return 'this user may not listen at ports below 1024';
    default:
      return messageOf(error);
  }
}
