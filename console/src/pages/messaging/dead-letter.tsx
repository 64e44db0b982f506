/** A dead letter: the message, its last response, and what can be done with it. */
import "./messaging.css";
import { useLocation } from "preact-iso";
import { ApiError, request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Body } from "../../parts/body.tsx";
import { bytesFromBase64, bytesFromText } from "../../parts/bytes.ts";
import { Headers } from "../../parts/headers.tsx";
import { Card, PageHead } from "../../parts/page.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { pagePath } from "../../places.ts";
import type { PageProps } from "../pages.ts";
import { type DeadLetter, failedAt, Status } from "./dead-letters.tsx";
import { FactsOfMessage } from "./message-facts.tsx";
import { api, page } from "./places.ts";

/** Bodies are shown up to here. */
const SHOWN_LENGTH = 20_000;

export default function DeadLetterPage({ params: { tenant = "", id = "" } }: PageProps) {
  const { route } = useLocation();
  const { value: letter, error, reload } = useLoad((signal) => loadLetter(tenant, id, signal), [tenant, id]);
  if (letter === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const { messageId, workflowRunId, responseStatus } = letter;
  return (
    <>
      <PageHead
        title={`Dead letter ${id}`}
        lead={
          <>
            <Status letter={letter} /> failed <Time at={failedAt(letter)} />
          </>
        }
        actions={
          <>
            {workflowRunId === undefined && (
              <Action
                run={async () => {
                  const { responses } = await request<{ responses: { messageId: string }[] }>(
                    api(tenant, "dlq", "retry", id),
                    { method: "POST" },
                  );
                  const [first] = responses;
                  route(first === undefined ? page(tenant, "dlq") : page(tenant, "messages", first.messageId));
                  return "Published again as a new message";
                }}
              >
                Retry
              </Action>
            )}
            <Action
              kind="danger"
              confirm={
                workflowRunId === undefined
                  ? "The message and its response are gone then, except in the log."
                  : "The workflow run cannot be resumed then."
              }
              run={async () => {
                await request(api(tenant, "dlq", id), { method: "DELETE" });
                route(page(tenant, "dlq"));
                return "Deleted";
              }}
            >
              Delete
            </Action>
          </>
        }
      />
      {workflowRunId !== undefined && (
        <p class="waits-for">
          It is the failure of the workflow run{" "}
          <a href={pagePath("workflows", tenant, "runs", workflowRunId)}>{workflowRunId}</a>: resume or restart the run
          to try again.
        </p>
      )}
      <div class="cards halves">
        <Card title="Message">
          <FactsOfMessage
            tenant={tenant}
            message={letter}
            more={[
              [
                "Attempts",
                <a key="message" href={page(tenant, "messages", messageId)}>
                  {messageId}
                </a>,
              ],
              ["Published", <Time key="time" at={letter.createdAt} isExact />],
            ]}
          />
        </Card>
        <Card title="Headers">
          <Headers headers={letter.header} of={`dead letter ${id}`} />
        </Card>
      </div>
      <Card title={responseStatus === 0 ? "Why there was no response" : `Last response: status ${responseStatus}`}>
        {responseStatus !== 0 && <Headers headers={letter.responseHeader} of={`the response of dead letter ${id}`} />}
        <CutBody
          {...{ tenant, id, label: "Last response", fileName: `${id}-response.bin` }}
          bytesOf={responseBytes}
          letter={letter}
        />
      </Card>
      <Card title="Body">
        {letter.bodyError !== undefined ? (
          <ErrorBox error={letter.bodyError} />
        ) : (
          <CutBody
            {...{ tenant, id, label: "Body of the message", fileName: `${id}.bin` }}
            bytesOf={bodyBytes}
            letter={letter}
          />
        )}
      </Card>
    </>
  );
}

/** The list can cut bodies, and has no filter that excludes others with an id. */
async function loadLetter(tenant: string, id: string, signal: AbortSignal): Promise<DeadLetter> {
  const { messages } = await request<{ messages: DeadLetter[] }>(api(tenant, "dlq"), {
    query: { dlqIds: id, count: 1, trimBody: SHOWN_LENGTH },
    signal,
  });
  const [letter] = messages;
  if (letter === undefined)
    throw new ApiError(`dead letter ${id} not found: it was retried, deleted, or is too old`, 404);
  return letter;
}

interface CutBodyProps {
  readonly tenant: string;
  readonly id: string;
  readonly label: string;
  readonly fileName: string;
  readonly letter: DeadLetter;
  readonly bytesOf: (letter: DeadLetter) => { bytes: Uint8Array<ArrayBuffer>; length: number };
}

function CutBody({ tenant, id, label, fileName, letter, bytesOf }: CutBodyProps) {
  const { bytes, length } = bytesOf(letter);
  const isCut = length >= SHOWN_LENGTH;
  const loadWhole = async (): Promise<Uint8Array<ArrayBuffer>> =>
    bytesOf(await request<DeadLetter>(api(tenant, "dlq", id))).bytes;
  return <Body label={label} bytes={bytes} isCut={isCut} fileName={fileName} {...(isCut && { loadWhole })} />;
}

function bodyBytes({ body, bodyBase64 }: DeadLetter): ReturnType<CutBodyProps["bytesOf"]> {
  return bytesOfEither(body, bodyBase64);
}

function responseBytes({ responseBody, responseBodyBase64 }: DeadLetter): ReturnType<CutBodyProps["bytesOf"]> {
  return bytesOfEither(responseBody, responseBodyBase64);
}

/** Text is cut by characters, and base64 by bytes. */
function bytesOfEither(text: string | undefined, base64: string | undefined): ReturnType<CutBodyProps["bytesOf"]> {
  const bytes = base64 === undefined ? bytesFromText(text ?? "") : bytesFromBase64(base64);
  return { bytes, length: base64 === undefined ? (text ?? "").length : bytes.length };
}
