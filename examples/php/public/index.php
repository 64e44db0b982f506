<?php
// A page with a counter, a search over texts and a message, with the standard library alone.
declare(strict_types=1);

require __DIR__ . '/../src/larder.php';
require __DIR__ . '/../src/signature.php';

const TEXTS_PER_MINUTE = 5;

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$origin = 'http://' . $_SERVER['HTTP_HOST'];
$body = file_get_contents('php://input');

try {
    match ("{$_SERVER['REQUEST_METHOD']} $path") {
        'GET /' => show_page(),
        'POST /api/texts' => add_text(fields($body)),
        'GET /api/search' => answer(200, ['texts' => query_text($_GET['q'] ?? '', 3)]),
        'POST /api/messages' => answer(202, ['messageId' => publish("$origin/api/messages/receive", fields($body))]),
        'GET /api/messages' => answer(200, ['messages' => command('LRANGE', 'messages', 0, -1)]),
        'POST /api/messages/receive' => receive($origin . $path, $body),
        default => answer(404, ['error' => 'Not found']),
    };
} catch (JsonException) {
    answer(400, ['error' => 'The body must be JSON']);
} catch (Throwable $error) {
    error_log((string) $error);
    answer(500, ['error' => 'Something went wrong']);
}

function show_page(): void
{
    header('Content-Type: text/html; charset=utf-8');
    printf('<h1>larder and PHP</h1><p>%d views</p>', command('INCR', 'views'));
}

function add_text(array $text): void
{
    // Behind a proxy, take the address that it reports. Here, all callers share the limit.
    if (count_in_minute('texts:everybody') > TEXTS_PER_MINUTE) {
        answer(429, ['error' => 'Too many texts']);
        return;
    }
    upsert_text($text['id'], $text['text']);
    answer(201, ['id' => $text['id']]);
}

/** What larder delivers, with its signature. */
function receive(string $url, string $body): void
{
    if (!is_signed($_SERVER['HTTP_UPSTASH_SIGNATURE'] ?? '', $url, $body)) {
        answer(401, ['error' => 'The signature is not valid']);
        return;
    }
    command('RPUSH', 'messages', fields($body)['text']);
    answer(200, ['received' => true]);
}

function fields(string $body): array
{
    return json_decode($body, true, flags: JSON_THROW_ON_ERROR);
}

function answer(int $status, array $value): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
}
