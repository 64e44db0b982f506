<?php
// The three areas of larder over HTTP. Their addresses and tokens are in the environment.
declare(strict_types=1);

/** Runs a command of the store, for example 'INCR', 'views'. */
function command(string|int ...$words): mixed
{
    return call('UPSTASH_REDIS_REST', '/', $words)['result'];
}

/** Counts a call, and returns how many there were since the first one of a minute. */
function count_in_minute(string $key): int
{
    $commands = [['SET', $key, 0, 'EX', 60, 'NX'], ['INCR', $key]];
    [, $count] = call('UPSTASH_REDIS_REST', '/multi-exec', $commands);
    return $count['result'] ?? throw new RuntimeException($count['error']);
}

function upsert_text(string $id, string $text): void
{
    call('UPSTASH_VECTOR_REST', '/upsert-data', ['id' => $id, 'data' => $text]);
}

function query_text(string $words, int $count): array
{
    $hits = call('UPSTASH_VECTOR_REST', '/query-data', ['data' => $words, 'topK' => $count, 'includeData' => true]);
    return array_map(
        fn (array $hit) => ['id' => $hit['id'], 'score' => $hit['score'], 'text' => $hit['data']],
        $hits['result'],
    );
}

/** Has a JSON body delivered to an address, and returns the id of the message. */
function publish(string $destination, array $body): string
{
    return call('QSTASH', "/v2/publish/$destination", $body)['messageId'];
}

/** Sends a request to the area whose address and token are in the variables with a prefix. */
function call(string $prefix, string $path, array $body): array
{
    $curl = curl_init(getenv("{$prefix}_URL") . $path);
    curl_setopt_array($curl, [
        CURLOPT_POSTFIELDS => json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES),
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . getenv("{$prefix}_TOKEN"), 'Content-Type: application/json'],
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_TIMEOUT => 30,
    ]);
    $answer = curl_exec($curl);
    if ($answer === false) {
        throw new RuntimeException("POST $path: " . curl_error($curl));
    }
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    if ($status >= 300) {
        throw new RuntimeException("POST $path: $status $answer");
    }
    return json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
}
