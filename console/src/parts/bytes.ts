/** Bytes in requests and answers, and as a file that the browser saves. */

export function bytesFromBase64(text: string): Uint8Array<ArrayBuffer> {
  const latin1 = atob(text);
  const bytes = new Uint8Array(latin1.length);
  for (let at = 0; at < latin1.length; at += 1) bytes[at] = latin1.charCodeAt(at);
  return bytes;
}

export function bytesFromText(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** Undefined if the bytes are not text. `isCut`: the last character may be incomplete. */
export function textFromBytes(bytes: Uint8Array, { isCut = false } = {}): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

/** Saves bytes as a file. They are never shown as a page: their type says nothing about them. */
export function saveBytes(bytes: Uint8Array<ArrayBuffer>, fileName: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
