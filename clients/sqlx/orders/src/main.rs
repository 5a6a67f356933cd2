//! An application that books orders, and wants a ticket for each: in one transaction, or not at all. With axum and sqlx.
//!
//! `POST /orders` with `{"name": "…"}` books one, `GET /orders/{name}` says how its ticket stands. An order whose `take_back` is true is
//! taken back before it is booked, to show that nothing of it is left.

use std::env;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::PgPool;

#[derive(Deserialize)]
struct Order {
    name: String,
    #[serde(default)]
    take_back: bool,
}

/// What went wrong, as the caller sees it.
type Failure = (StatusCode, String);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders = PgPool::connect(&env::var("DATABASE_URL")?).await?;
    sqlx::query("create table if not exists orders (name text primary key, ticket text not null)")
        .execute(&orders)
        .await?;
    let app = Router::new()
        .route("/orders", post(book))
        .route("/orders/{name}", get(ticket))
        .with_state(orders);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!(
        "{}",
        json!({"address": format!("http://{}", listener.local_addr()?)})
    );
    Ok(axum::serve(listener, app).await?)
}

/// Books an order together with the intent to open its ticket.
async fn book(
    State(orders): State<PgPool>,
    Json(order): Json<Order>,
) -> Result<(StatusCode, Json<Value>), Failure> {
    let mut tx = orders.begin().await.map_err(failed)?;
    let ticket = json!({
        "destination": "bed",
        "operation": "key.sync",
        "key": format!("order-{}/ticket", order.name),
        "payload": {"business": order.name},
    });
    let submitted = factum_sqlx::submit(&mut *tx, &ticket)
        .await
        .map_err(failed)?;
    sqlx::query("insert into orders (name, ticket) values ($1, $2)")
        .bind(&order.name)
        .bind(&submitted.id)
        .execute(&mut *tx)
        .await
        .map_err(failed)?;
    if order.take_back {
        tx.rollback().await.map_err(failed)?;
        return Err((StatusCode::CONFLICT, "taken back".to_owned()));
    }
    tx.commit().await.map_err(failed)?;
    // Whether this arrives or not, it is picked up.
    let _ = factum_sqlx::wake(&orders).await;
    Ok((StatusCode::CREATED, Json(json!({"ticket": submitted.id}))))
}

/// How an order's ticket stands.
async fn ticket(
    State(orders): State<PgPool>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Failure> {
    let found: Option<String> = sqlx::query_scalar("select ticket from orders where name = $1")
        .bind(name)
        .fetch_optional(&orders)
        .await
        .map_err(failed)?;
    let id = found.ok_or((StatusCode::NOT_FOUND, "no such order".to_owned()))?;
    let status = factum_sqlx::submitted(&orders, &id).await.map_err(failed)?;
    let status = status.ok_or((StatusCode::NOT_FOUND, "no such action".to_owned()))?;
    Ok(Json(
        json!({"ticket": id, "state": status.state, "rests": status.rests()}),
    ))
}

fn failed(error: impl std::error::Error) -> Failure {
    (StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
