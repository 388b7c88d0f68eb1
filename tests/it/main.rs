
mod audit;
