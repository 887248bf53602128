/** An S3-compatible server on loopback: moto's, which knows uploads in parts and what is left of them. */
import { CreateBucketCommand, ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { CREDENTIALS, startMoto } from "./moto.ts";
import { until } from "./until.ts";

export { CREDENTIALS } from "./moto.ts";

export interface LocalS3 {
  readonly url: string;
  readonly bucket: string;
  /** Keys of all objects, and behind them the keys of uploads that have not ended, with `.part` at their end. */
  keys(): Promise<readonly string[]>;
  readonly client: S3Client;
  close(): Promise<void>;
}

/** The server, with a bucket, or why there is none. */
export async function startS3(): Promise<LocalS3 | { readonly missing: string }> {
  const moto = await startMoto();
  if ("missing" in moto) return moto;
  const { url } = moto;
  const bucket = "parley-test";
  const client = new S3Client({
    endpoint: url,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: CREDENTIALS.AWS_ACCESS_KEY_ID, secretAccessKey: CREDENTIALS.AWS_SECRET_ACCESS_KEY },
  });
  await until(() => client.send(new CreateBucketCommand({ Bucket: bucket })), { everyMs: 200 });
  return {
    url,
    bucket,
    client,
    async keys() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
      return [...Contents.map(({ Key = "" }) => Key), ...Uploads.map(({ Key = "" }) => `${Key}.part`)];
    },
    async close() {
      client.destroy();
      await moto.close();
    },
  };
}
