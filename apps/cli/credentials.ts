import { accessToken } from "./token.ts";

export function credentialsFor(_url: string): (refused?: string) => Promise<string | undefined> {
  return (refused) => {
    const token = accessToken();
    return Promise.resolve(refused === undefined ? token : undefined);
  };
}
