import { ServerCredentials, type Server } from '@grpc/grpc-js';
import { listenPrivately, type PrivateSocket } from '#base/wire/private-socket.js';

/** Lets a gRPC server listen at a unix socket that only its owner may open; see {@link listenPrivately}. */
export function listenAt(server: Server, listen: string): Promise<PrivateSocket> {
  return listenPrivately(
    listen,
    (path) =>
      new Promise((resolve, reject) => {
        server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
          if (error === null) resolve();
          else reject(error);
        });
      }),
  );
}
